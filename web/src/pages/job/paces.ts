import type { Schema } from "../../api/client";

export type RankPace = Schema["RankPace"];

/** How long a rank was busy in a step; where that is not measured, how long the step took. */
export function paceOf(rank: RankPace): number | null {
  return rank.busy_s ?? rank.step_s;
}

/** The ranks to show: stragglers first, then the slowest. */
export function slowestFirst(ranks: RankPace[]): RankPace[] {
  return ranks.toSorted(
    (one, other) => (other.slowdown ?? 0) - (one.slowdown ?? 0) || (paceOf(other) ?? 0) - (paceOf(one) ?? 0) || one.rank - other.rank,
  );
}

export function median(values: number[]): number | null {
  const inOrder = values.toSorted((one, other) => one - other);
  return inOrder[Math.floor(inOrder.length / 2)] ?? null;
}
