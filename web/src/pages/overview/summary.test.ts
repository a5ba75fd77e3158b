import { expect, test } from "vitest";

import type { Queue } from "../../api/client";
import type { WaitingStart } from "../../api/clusterQueries";
import { summary } from "./summary";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const queue = (used: number, waiting: number, more: Partial<Queue> = {}): Queue => ({
  running: 1,
  waiting,
  oldest: null,
  tiers: {},
  teams: {},
  gpus: { h100: { total: 64, used } },
  nodes: { ready: 8 },
  bad_gpus: 0,
  ...more,
});
const start = (p50: string) => ({ hold: null, estimate: { p50 } }) as unknown as WaitingStart;

test("a busy cluster is told with what waits and what is broken", () => {
  const more = { nodes: { drained: 1, ready: 7 }, bad_gpus: 1 };
  const starts = [start("2026-01-01T00:04:10Z")];
  expect(summary(queue(61, 12, more), starts, NOW)).toBe(
    "61 of 64 GPUs are busy; 12 jobs wait, the next one starting in about 5 min; 1 node is drained; 1 GPU is out of service.",
  );
});

test("an empty cluster says that it is free", () => {
  expect(summary(queue(0, 0), [], NOW)).toBe("All 64 GPUs are free; no job waits.");
});

test("one job that waits without an estimate is told without a time", () => {
  expect(summary(queue(64, 1), undefined, NOW)).toBe("64 of 64 GPUs are busy; 1 job waits.");
});
