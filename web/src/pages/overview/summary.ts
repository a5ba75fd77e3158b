/** What the cluster does, in one sentence. */

import type { Node, Queue } from "../../api/client";
import type { WaitingStart } from "../../api/clusterQueries";
import { duration, gpus } from "../../words/amounts";

export function summary(queue: Queue, nodes: Node[], starts: WaitingStart[] | undefined, now: number): string {
  const parts = [busy(queue), waiting(queue, starts, now), broken(nodes)];
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
  return seconds < 1 ? "about to start" : `starting in about ${roughly(seconds)}`;
}

/** Only the largest unit: an estimate is not exact to the second. */
function roughly(seconds: number): string {
  return duration(seconds).split(" ").slice(0, 2).join(" ");
}

function broken(nodes: Node[]): string {
  const out = nodes.filter((node) => node.state !== "ready");
  const bad = nodes.filter((node) => node.state === "ready").reduce((sum, node) => sum + node.bad_gpus.length, 0);
  const states = [...new Set(out.map((node) => node.state))].map((state) => {
    const count = out.filter((node) => node.state === state).length;
    return `${count} ${count === 1 ? "node is" : "nodes are"} ${IN_WORDS[state] ?? state}`;
  });
  if (bad > 0) {
    states.push(`${bad} ${bad === 1 ? "GPU is" : "GPUs are"} out of service`);
  }
  return states.join("; ");
}

const IN_WORDS: Partial<Record<Node["state"], string>> = { probation: "in probation", draining: "being drained" };
