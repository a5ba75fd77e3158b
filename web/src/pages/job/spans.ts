/** How a job spent its time: from its story, which says its state after everything that happened. */

import type { JobState, LogEvent, Schema } from "../../api/client";
import { inWords, isEndState } from "../../words/states";

export type Phase = "waiting" | "starting" | "running" | "leaving";

export type Span = {
  phase: Phase;
  from: number;
  /** Null while it lasts. */
  to: number | null;
  /** Counts the starts; 0 while it waits. */
  attempt: number;
  /** What began it. */
  text: string;
};

export type Mark = { at: number; kind: "saved" | "preempted" | "resized" | "trouble" | "ended"; text: string };

export type Timeline = { spans: Span[]; marks: Mark[]; from: number; to: number | null };

const PHASES: Partial<Record<JobState, Phase>> = {
  starting: "starting",
  running: "running",
  checkpointing: "leaving",
  stopping: "leaving",
};

/** Kinds of events that are a mark, and which. */
const MARKS: Readonly<Record<string, Mark["kind"]>> = {
  eviction_ordered: "preempted",
  resize_ordered: "resized",
  straggler_found: "trouble",
  hang_found: "trouble",
  node_lost: "trouble",
  start_failed: "trouble",
  checkpoint_damaged: "trouble",
};

export function timeline(sentences: Schema["Sentence"][], events: LogEvent[]): Timeline {
  const spans = spansOf(sentences);
  const marks = [...saves(events), ...marksOf(sentences)].sort((one, other) => one.at - other.at);
  const last = spans.at(-1);
  return { spans, marks, from: spans[0]?.from ?? 0, to: last?.to ?? null };
}

/** A span for each time in which the phase was the same. Every start begins a new one. */
function spansOf(sentences: Schema["Sentence"][]): Span[] {
  const spans: Span[] = [];
  let attempt = 0;
  for (const { at, kind, state, text } of sentences) {
    const [time, phase, isStart] = [Date.parse(at), phaseOf(state), STARTS.includes(kind)];
    attempt += isStart ? 1 : 0;
    if (phase === spans.at(-1)?.phase && !isStart) {
      continue;
    }
    close(spans.at(-1), time);
    if (phase !== null) {
      spans.push({ phase, from: time, to: null, attempt: phase === "waiting" ? 0 : attempt, text });
    }
  }
  return spans;
}

const STARTS = ["job_started", "gang_adopted"];

/** Null when it has ended. */
function phaseOf(state: JobState | null): Phase | null {
  return state === null || isEndState(state) ? null : (PHASES[state] ?? "waiting");
}

function marksOf(sentences: Schema["Sentence"][]): Mark[] {
  return sentences.flatMap(({ at, kind, state, text }) => {
    const mark = phaseOf(state) === null ? "ended" : MARKS[kind];
    return mark === undefined ? [] : [{ at: Date.parse(at), kind: mark, text }];
  });
}

function close(span: Span | undefined, time: number): void {
  if (span?.to === null) {
    span.to = time;
  }
}

/** Checkpoints are so many that the story counts them; where each was is in the events. */
function saves(events: LogEvent[]): Mark[] {
  const byStep = new Map<string, Mark>();
  for (const event of events) {
    if (event.kind === "checkpoint_saved" || event.kind === "shards_saved") {
      const step = typeof event["step"] === "number" ? event["step"] : null;
      const text = step === null ? "saved itself" : `saved itself at step ${step}`;
      byStep.set(step === null ? event.at : `step ${step}`, { at: Date.parse(event.at), kind: "saved", text });
    }
  }
  return [...byStep.values()];
}

/** A span as a sentence, for those who hear and do not see it. */
export function said(span: Span, lasted: string): string {
  const what = span.attempt > 0 ? `attempt ${span.attempt}: ${inWords(span.phase)}` : span.phase;
  return `${what} for ${lasted}: ${span.text}`;
}
