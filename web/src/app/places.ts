/** The pages that one can go to: where each is, what it is called, and the letter that leads there after `g`. */

export const PLACES = [
  { to: "/", name: "Overview", letter: "o" },
  { to: "/cluster", name: "Cluster", letter: "c" },
  { to: "/jobs", name: "Jobs", letter: "j" },
  { to: "/teams", name: "Teams", letter: "t" },
  { to: "/nodes", name: "Nodes", letter: "n" },
  { to: "/submit", name: "Submit", letter: "s" },
  { to: "/what-if", name: "What-if", letter: "w" },
  { to: "/audit", name: "Audit", letter: "a" },
] as const;

/** What a tab of the browser is called while it shows this address. */
export function titleOf(path: string): string {
  const [, first = "", second] = path.split("/");
  const place = PLACES.find((each) => each.to === `/${first}`)?.name;
  const name = second === undefined ? place : decoded(second);
  return name === undefined ? "Muster" : `${name} · Muster`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
