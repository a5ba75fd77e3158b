import { expect, it } from "vitest";

import type { LogEvent, Schema } from "../../api/client";
import { timeline } from "./spans";

type Sentence = Schema["Sentence"];

const at = (second: number) => new Date(second * 1000).toISOString();
const said = (second: number, kind: string, state: Sentence["state"], text = kind): Sentence => ({ at: at(second), kind, state, text, times: 1 });
const event = (second: number, kind: string, more = {}): LogEvent =>
  ({ version: second, at: at(second), kind, job: "job-1", team: null, user: null, by: null, ...more });

const STORY = [
  said(0, "job_submitted", "queued"),
  said(10, "job_started", "starting"),
  said(12, "workers_started", "running"),
  said(40, "eviction_ordered", "checkpointing"),
  said(45, "workers_exited", "queued"),
  said(60, "job_started", "starting"),
  said(61, "workers_started", "running"),
];

it("has a span for each phase, with the attempt it belongs to", () => {
  const { spans, from, to } = timeline(STORY, []);
  expect(spans.map((span) => [span.phase, span.from / 1000, span.to === null ? null : span.to / 1000, span.attempt])).toEqual([
    ["waiting", 0, 10, 0],
    ["starting", 10, 12, 1],
    ["running", 12, 40, 1],
    ["leaving", 40, 45, 1],
    ["waiting", 45, 60, 0],
    ["starting", 60, 61, 2],
    ["running", 61, null, 2],
  ]);
  expect([from, to]).toEqual([0, null]);
});

it("ends with the job", () => {
  const { spans, marks, to } = timeline([...STORY, said(90, "workers_exited", "failed", "it has failed")], []);
  expect([spans.at(-1)?.to, to, marks.at(-1)]).toEqual([90_000, 90_000, { at: 90_000, kind: "ended", text: "it has failed" }]);
});

it("marks what happened meanwhile, and each checkpoint once although every node reports its part", () => {
  const saves = [
    event(20, "shards_saved", { step: 100 }),
    event(21, "shards_saved", { step: 100 }),
    event(30, "checkpoint_saved"),
  ];
  const { marks } = timeline([...STORY, said(70, "hang_found", "running"), said(80, "resize_ordered", "running")], saves);
  expect(marks.map((mark) => [mark.at / 1000, mark.kind])).toEqual([
    [21, "saved"],
    [30, "saved"],
    [40, "preempted"],
    [70, "trouble"],
    [80, "resized"],
  ]);
  expect(marks[0]?.text).toBe("saved itself at step 100");
});

it("is empty without a story", () => {
  expect(timeline([], [])).toEqual({ spans: [], marks: [], from: 0, to: null });
});
