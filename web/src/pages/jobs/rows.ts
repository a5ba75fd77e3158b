/** What stands in the rows of the table: jobs, and below an array that is unfolded its tasks. */

import type { Job } from "../../api/client";
import type { TaskList } from "../../api/queries";

export type Row =
  | { kind: "job"; id: string; job: Job; isTask: boolean }
  | { kind: "note"; id: string; array: string; text: string };

export function rowsOf(jobs: Job[], unfolded: ReadonlyMap<string, TaskList | undefined>): Row[] {
  return jobs.flatMap((job): Row[] => {
    const own: Row = { kind: "job", id: job.id, job, isTask: false };
    return unfolded.has(job.id) ? [own, ...tasksOf(job, unfolded.get(job.id))] : [own];
  });
}

function tasksOf(array: Job, tasks: TaskList | undefined): Row[] {
  const note = (text: string): Row => ({ kind: "note", id: `${array.id}/note`, array: array.id, text });
  if (tasks === undefined) {
    return [note("loading its tasks…")];
  }
  const rows = tasks.items.map((job): Row => ({ kind: "job", id: job.id, job, isTask: true }));
  return tasks.next === null ? rows : [...rows, note("and more: the page of the array has all of them")];
}
