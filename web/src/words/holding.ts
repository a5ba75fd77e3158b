/** What holding means for a job that the server says is held. */

import type { Job } from "../api/client";
import { inWords } from "./states";

type Held = Pick<Job, "state" | "held" | "ended" | "workers" | "tasks">;

/** "running, held": a job that is held while it has its GPUs goes on. */
export function stateInWords(job: Pick<Held, "state" | "held" | "ended">): string {
  const isMore = job.held && job.ended === null && job.state !== "held";
  return inWords(job.state) + (isMore ? ", held" : "");
}

/** What being held means for a job that goes on in spite of it, and for an array; nothing for any other. */
export function holdMeans(job: Held): string | undefined {
  if (!job.held || job.ended !== null) {
    return undefined;
  }
  if (job.tasks !== null) {
    return "Held: tasks that run go on, and no other starts until it is released.";
  }
  return job.workers.length > 0 ? `${inWords(job.state)}, held: it will not start again until released.` : undefined;
}

/** "3 held; 1 of them runs on, and will not start again until released". */
export function heldInWords(said: string, held: readonly Held[]): string {
  const on = held.filter((job) => job.held && job.workers.length > 0).length;
  if (on === 0) {
    return said;
  }
  const goOn = on === 1 ? "1 of them goes" : `${on} of them go`;
  return `${said}; ${goOn} on running, and will not start again until released`;
}
