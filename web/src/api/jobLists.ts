/** Lists of jobs, brought up to date with the few jobs that changed. */

import type { Job } from "./client";

/** Jobs that have not ended, newest first, after these have changed. */
export function patchedActive(jobs: Job[], fresh: Job[]): Job[] {
  const own = fresh.filter((job) => job.array === null);
  return merged(
    jobs.filter((job) => !own.some((each) => each.id === job.id && each.ended !== null)),
    own.filter((job) => job.ended === null),
  );
}

/** Ended jobs, newest first, after these have changed. `isLast` says that no older ones are to be loaded. */
export function patchedEnded(jobs: Job[], fresh: Job[], isLast: boolean): Job[] {
  const oldest = jobs.at(-1)?.submitted ?? "";
  const own = fresh.filter((job) => job.array === null && job.ended !== null);
  return merged(
    jobs,
    own.filter((job) => isLast || job.submitted >= oldest),
  );
}

/** The same jobs in the same order, each as it is now. */
export function renewed(jobs: Job[], fresh: Job[]): Job[] {
  const known = new Map(fresh.map((job) => [job.id, job]));
  return jobs.some((job) => known.has(job.id)) ? jobs.map((job) => known.get(job.id) ?? job) : jobs;
}

function merged(jobs: Job[], fresh: Job[]): Job[] {
  const present = new Set(jobs.map((job) => job.id));
  const found = renewed(jobs, fresh);
  const added = fresh.filter((job) => !present.has(job.id));
  // Few are added and they are mostly the newest, so each is put where it belongs instead of sorting everything.
  return added.reduce((list, job) => {
    const place = list.findIndex((each) => each.submitted <= job.submitted);
    return place < 0 ? [...list, job] : list.toSpliced(place, 0, job);
  }, found);
}
