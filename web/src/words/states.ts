/** How states look. The words are the server's. */

import type { JobState, Node } from "../api/client";

export type Tone = "calm" | "good" | "wait" | "warn" | "bad";

/** Every state, with its tone and whether nothing more happens in it. One that the server adds breaks the build. */
const JOBS: Record<JobState, { tone: Tone; isEnded?: true }> = {
  blocked: { tone: "wait" },
  held: { tone: "wait" },
  queued: { tone: "wait" },
  starting: { tone: "good" },
  running: { tone: "good" },
  checkpointing: { tone: "warn" },
  stopping: { tone: "warn" },
  succeeded: { tone: "calm", isEnded: true },
  failed: { tone: "bad", isEnded: true },
  timed_out: { tone: "bad", isEnded: true },
  cancelled: { tone: "calm", isEnded: true },
};

export const JOB_STATES = Object.keys(JOBS) as JobState[];

export function toneOfJob(state: JobState): Tone {
  return JOBS[state].tone;
}

export function isEndState(state: JobState): boolean {
  return JOBS[state].isEnded === true;
}

export function isJobState(word: string | undefined): word is JobState {
  return word !== undefined && word in JOBS;
}

const NODES: Partial<Record<Node["state"], Tone>> = { ready: "good", down: "bad", suspect: "warn" };

export function toneOfNode(state: Node["state"]): Tone {
  return NODES[state] ?? "wait";
}

export function inWords(word: string): string {
  return word.replaceAll("_", " ");
}
