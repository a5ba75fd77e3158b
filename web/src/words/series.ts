/** From sums over steps of time to what charts draw. */

import type { History } from "../api/clusterQueries";
import type { Series } from "../parts/TimeChart";
import { colourAt, coloursOf } from "./colours";

/** When each step begins, in seconds since 1970. */
export function times(history: History): number[] {
  const start = new Date(history.start).getTime() / 1000;
  return history.covered_s.map((_, place) => start + place * history.step_s);
}

/** Averages over each step. A step of which nothing is known is a gap. */
export function averages(sums: number[], history: History): (number | null)[] {
  return sums.map((sum, place) => {
    const covered = history.covered_s[place] ?? 0;
    return covered > 0 ? sum / covered : null;
  });
}

/** The sum of several lists, place by place. */
export function together(lists: number[][], length: number): number[] {
  return Array.from({ length }, (_, place) => lists.reduce((sum, list) => sum + (list[place] ?? 0), 0));
}

export function usedByTier(history: History): Series[] {
  const pools = Object.values(history.pools);
  return Object.keys(history.tiers).map((tier, place) => ({
    name: tier,
    colour: colourAt(place),
    values: averages(together(pools.map((pool) => pool.used_gpu_s[tier] ?? []), history.covered_s.length), history),
  }));
}

export function usedByPool(history: History): Series[] {
  return Object.entries(history.pools).map(([name, pool], place) => ({
    name,
    colour: colourAt(place),
    values: averages(together(Object.values(pool.used_gpu_s), history.covered_s.length), history),
  }));
}

/** How many GPUs there were, in service or not: what the queue counts as well. */
export function capacity(history: History, name: string, colour: string): Series {
  const pools = Object.values(history.pools);
  return { name, colour, values: averages(together(pools.map((pool) => pool.gpu_s), history.covered_s.length), history) };
}

export function waitingByTier(history: History): Series[] {
  return Object.entries(history.tiers).map(([name, tier], place) => ({
    name,
    colour: colourAt(place),
    values: averages(tier.waiting_job_s, history),
  }));
}

/** The teams at the top of the tree, which are counted with those below them. */
export function ofTopTeams(history: History, value: (team: History["teams"][string]) => number[]): Series[] {
  const teams = Object.entries(history.teams).filter(([path]) => !path.includes("/"));
  const colours = coloursOf(teams.map(([path]) => path));
  return teams.map(([name, team], place) => ({
    name,
    colour: colours[place] ?? "",
    values: averages(value(team), history),
  }));
}
