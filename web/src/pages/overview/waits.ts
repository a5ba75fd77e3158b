import type { History } from "../../api/clusterQueries";

export type Waits = { starts: number; mean_s: number; longest_s: number };

/** How long the jobs waited that started in these steps; nothing when none did. */
export function waitsOf(tier: History["tiers"][string] | undefined): Waits | undefined {
  const starts = sum(tier?.starts ?? []);
  if (tier === undefined || starts === 0) {
    return undefined;
  }
  return { starts, mean_s: sum(tier.waited_s) / starts, longest_s: Math.max(...tier.longest_wait_s) };
}

function sum(numbers: number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
