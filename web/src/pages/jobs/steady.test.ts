import { expect, it } from "vitest";

import type { Job } from "../../api/client";
import { steady } from "./steady";

const job = (id: string, state = "running"): Job => ({ id, state }) as Job;
const ids = (jobs: Job[]) => jobs.map((each) => each.id);
const NONE = new Map<string, Job>();

it("keeps rows where they stood, each as its job is now", () => {
  const { rows, waiting } = steady(["a", "b"], [job("b", "stopping"), job("a")], NONE);
  expect([ids(rows), rows[1]?.state, waiting]).toEqual([["a", "b"], "stopping", 0]);
});

it("lets new jobs wait, and keeps a job that has ended in its row", () => {
  const ended = new Map([["b", job("b", "succeeded")]]);
  const { rows, waiting } = steady(["a", "b", "c"], [job("new"), job("a"), job("c")], ended);
  expect([ids(rows), rows[1]?.state, waiting]).toEqual([["a", "b", "c"], "succeeded", 2]);
});

it("adds what belongs behind the last row, as one scrolls there", () => {
  const { rows, waiting } = steady(["a", "b"], [job("a"), job("b"), job("c"), job("d")], NONE);
  expect([ids(rows), waiting]).toEqual([["a", "b", "c", "d"], 0]);
});

it("drops a row of which nothing is known any more", () => {
  expect(steady(["a", "b"], [job("a")], NONE)).toEqual({ rows: [job("a")], waiting: 1 });
});
