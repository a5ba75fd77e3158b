/** Which colour a GPU has on the map. */

import type { Node } from "../../api/client";
import { colourOf } from "../../words/colours";
import type { Seat } from "./placement";

export const PAINTS = ["job", "team", "use", "health"] as const;
export type Paint = (typeof PAINTS)[number];

export type Condition = "well" | "suspect" | "set aside" | "out";

/** Whether a GPU may be used, and what speaks against it. */
export function conditionOf(node: Node, gpu: number): Condition {
  if (node.bad_gpus.includes(gpu) || node.state === "down") {
    return "out";
  }
  if (node.state === "suspect") {
    return "suspect";
  }
  return node.state === "ready" ? "well" : "set aside";
}

export const CONDITION_COLOURS: Record<Condition, string> = {
  well: "var(--map-well)",
  suspect: "var(--map-suspect)",
  "set aside": "var(--map-aside)",
  out: "var(--map-out)",
};

/** The part of a GPU that is given to jobs. */
export function shareOf(found: Seat[]): number {
  return Math.min(1, found.reduce((sum, seat) => sum + seat.share, 0));
}

/** The colour of a cell, or nothing for one that is free. */
export function colourOfCell(node: Node, gpu: number, found: Seat[], paint: Paint): string | undefined {
  if (paint === "health") {
    return CONDITION_COLOURS[conditionOf(node, gpu)];
  }
  const first = found[0];
  if (first === undefined) {
    return undefined;
  }
  if (paint === "use") {
    return `color-mix(in srgb, var(--map-busy) ${Math.round(100 * shareOf(found))}%, var(--free))`;
  }
  const names = [...new Set(found.map((seat) => (paint === "job" ? seat.job : seat.team)))];
  return names.length === 1 ? colourOfName(names[0] ?? "") : striped(names);
}

/** Several jobs on one GPU: a stripe for each. */
function striped(names: string[]): string {
  const stops = names.map((name, place) => {
    const [from, to] = [place, place + 1].map((edge) => Math.round((100 * edge) / names.length));
    return `${colourOfName(name)} ${from}% ${to}%`;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

/** What one may not see is grey. */
function colourOfName(name: string): string {
  return name === "" ? "var(--calm)" : colourOf(name);
}
