/** Which jobs are shown, in which order. All of it is in the address, so that a view can be sent to somebody. */

import type { Job } from "../../api/client";
import { type EndedFilters, isInTeam } from "../../api/queries";
import { isEndState, isJobState } from "../../words/states";

export type JobFilters = {
  /** `active`, `ended`, or one state. */
  state?: string | undefined;
  team?: string | undefined;
  user?: string | undefined;
  tier?: string | undefined;
  text?: string | undefined;
  /** A column, with `-` before it from the highest to the lowest. */
  sort?: string | undefined;
};

/** Whether it is the list of ended jobs that is asked for. */
export function showsEnded(filters: JobFilters): boolean {
  return filters.state === "ended" || (isJobState(filters.state) && isEndState(filters.state));
}

/** What the server filters for a list of ended jobs. */
export function endedFilters({ state, team, user, tier }: JobFilters): EndedFilters {
  return {
    ...(isJobState(state) ? { state } : {}),
    ...(team === undefined ? {} : { team }),
    ...(user === undefined ? {} : { user }),
    ...(tier === undefined ? {} : { tier }),
  };
}

/** The jobs that match all filters. */
export function matching(jobs: Job[], filters: JobFilters): Job[] {
  const { team, user, tier } = filters;
  const state = isJobState(filters.state) ? filters.state : undefined;
  const words = filters.text?.toLowerCase().split(/\s+/).filter(Boolean) ?? [];
  return jobs.filter(
    (job) =>
      (state === undefined || isInState(job, state)) &&
      (team === undefined || isInTeam(job, team)) &&
      (user === undefined || job.user === user) &&
      (tier === undefined || job.tier === tier) &&
      (words.length === 0 || saysAll(job, words)),
  );
}

/** An array is in every state that one of its tasks is in. */
function isInState(job: Job, state: string): boolean {
  return job.state === state || (job.tasks?.[state] ?? 0) > 0;
}

function saysAll(job: Job, words: string[]): boolean {
  const tags = Object.entries(job.tags).map(([key, value]) => `${key}=${value}`);
  const said = [job.id, job.name, job.user, job.team, job.tier, job.state, ...tags].join(" ").toLowerCase();
  return words.every((word) => said.includes(word));
}

/** The values that a filter can have, each once, in order. */
export function valuesOf(jobs: Job[], of: (job: Job) => string): string[] {
  return [...new Set(jobs.map(of))].sort();
}

type Value = string | number | null;

/** The jobs in order of a value; those without one come last, and equal ones stay as they are. */
export function sorted(jobs: Job[], valueOf: (job: Job) => Value, isDescending: boolean): Job[] {
  const keyed = jobs.map((job) => ({ job, value: valueOf(job) }));
  keyed.sort((one, other) => compared(one.value, other.value, isDescending));
  return keyed.map((each) => each.job);
}

function compared(one: Value, other: Value, isDescending: boolean): number {
  if (one === null || other === null) {
    return Number(one === null) - Number(other === null);
  }
  const way = one < other ? -1 : one > other ? 1 : 0;
  return isDescending ? -way : way;
}
