import { expect, test } from "vitest";

import type { History } from "../api/clusterQueries";
import { stacked } from "../parts/stacking";
import { averages, capacity, ofTopTeams, times, usedByPool, usedByTier } from "./series";

const team = { used_gpu_s: [60, 30], borrowed_gpu_s: [0, 0], waiting_job_s: [0, 30], cost: null };
const history: History = {
  start: "2026-01-01T00:00:00Z",
  step_s: 60,
  covered_s: [60, 30],
  pools: {
    main: { gpu_s: [480, 240], out_gpu_s: [60, 0], used_gpu_s: { standard: [120, 30] } },
    spot: { gpu_s: [240, 120], out_gpu_s: [0, 0], used_gpu_s: { standard: [60, 0], exploratory: [60, 60] } },
  },
  tiers: {
    standard: { waiting_job_s: [0, 0], starts: [1, 0], waited_s: [4, 0], longest_wait_s: [4, 0] },
    exploratory: { waiting_job_s: [60, 60], starts: [0, 0], waited_s: [0, 0], longest_wait_s: [0, 0] },
  },
  teams: { nlp: team, "nlp/pre": team },
};

test("a step that has not passed wholly has the average of what has passed", () => {
  expect(averages([60, 60], history)).toEqual([1, 2]);
});

test("a step of which nothing is known is a gap", () => {
  expect(averages([0, 0], { ...history, covered_s: [60, 0] })).toEqual([0, null]);
});

test("use by tier and use by pool have the same sum", () => {
  const sum = (series: { values: (number | null)[] }[]) =>
    series.reduce((all, each) => all + each.values.reduce<number>((some, value) => some + (value ?? 0), 0), 0);
  expect(usedByTier(history).map((each) => each.values)).toEqual([
    [3, 1],
    [1, 2],
  ]);
  expect(sum(usedByPool(history))).toBe(sum(usedByTier(history)));
});

test("GPUs that take no work are there all the same, as the queue counts them", () => {
  expect(capacity(history, "there are", "red").values).toEqual([12, 12]);
});

test("teams below others are counted once", () => {
  expect(ofTopTeams(history, (each) => each.used_gpu_s).map((each) => each.name)).toEqual(["nlp"]);
});

test("steps follow one another", () => {
  expect(times(history)).toEqual([1_767_225_600, 1_767_225_660]);
});

test("areas lie on top of each other and a gap stays a gap", () => {
  expect(stacked([{ values: [1, null] }, { values: [2, 3] }])).toEqual([{ values: [1, null] }, { values: [3, 3] }]);
});
