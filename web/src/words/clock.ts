/**
 * What time it is on the server. Times on the pages are its times, and the clock of a browser may be wrong: then "in 5
 * min" would be wrong by as much.
 */

/** A server tells whole seconds, and an answer takes a while. What differs by less is taken for the same time. */
const TOLERANCE_MS = 3000;

let aheadMs = 0;

export function now(): number {
  return Date.now() + aheadMs;
}

/** Learn from the head of an answer that has just come; null where it says no time. */
export function heard(date: string | null): void {
  const found = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(found) && Math.abs(found - aheadMs) > TOLERANCE_MS) {
    aheadMs = Math.abs(found) > TOLERANCE_MS ? found : 0;
  }
}
