/** What the cluster does, in one sentence. */

import type { Queue } from "../../api/client";
import type { WaitingStart } from "../../api/clusterQueries";
import { gpus, roughDuration } from "../../words/amounts";

export function summary(queue: Queue, starts: WaitingStart[] | undefined, now: number): string {
  const parts = [busy(queue), waiting(queue, starts, now), broken(queue)];
  return `${parts.filter((part) => part !== "").join("; ")}.`;
}

function busy(queue: Queue): string {
  const counts = Object.values(queue.gpus);
  const total = counts.reduce((sum, each) => sum + each.total, 0);
  const used = counts.reduce((sum, each) => sum + each.used, 0);
  if (total === 0) {
    return "There are no GPUs";
  }
  return used === 0 ? `All ${total} GPUs are free` : `${gpus(used)} of ${total} GPUs are busy`;
}

function waiting(queue: Queue, starts: WaitingStart[] | undefined, now: number): string {
  if (queue.waiting === 0) {
    return "no job waits";
  }
  const next = nextStart(starts?.[0]);
  const one = next ? `1 job waits, ${when(next, now)}` : "1 job waits";
  const many = next ? `${queue.waiting} jobs wait, the next one ${when(next, now)}` : `${queue.waiting} jobs wait`;
  return queue.waiting === 1 ? one : many;
}

function nextStart(first: WaitingStart | undefined): string | null | undefined {
  return first?.estimate?.p50 ?? first?.hold?.start;
}

function when(start: string, now: number): string {
  const seconds = (new Date(start).getTime() - now) / 1000;
  return seconds < 1 ? "about to start" : `starting in about ${roughDuration(seconds)}`;
}

function broken(queue: Queue): string {
  const states = Object.entries(queue.nodes)
    .filter(([state]) => state !== "ready")
    .map(([state, count]) => `${count} ${count === 1 ? "node is" : "nodes are"} ${IN_WORDS[state] ?? state}`);
  if (queue.bad_gpus > 0) {
    states.push(`${queue.bad_gpus} ${queue.bad_gpus === 1 ? "GPU is" : "GPUs are"} out of service`);
  }
  return states.join("; ");
}

const IN_WORDS: Partial<Record<string, string>> = { probation: "in probation", draining: "being drained" };
