/** What makes a request one: sent again under the same key, it is done once. `randomUUID` is missing where pages come without TLS. */
export function requestKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
