import { describe, expect, it } from "vitest";

import type { Job } from "./client";
import { patchedActive, patchedEnded, renewed } from "./jobLists";

const job = (id: string, submitted: number, more: Partial<Job> = {}): Job =>
  ({ id, submitted: new Date(submitted * 1000).toISOString(), array: null, ended: null, ...more }) as Job;

const ids = (jobs: Job[]) => jobs.map((each) => each.id);

describe("the list of active jobs", () => {
  const list = [job("c", 3), job("b", 2), job("a", 1)];

  it("puts new jobs where their submission belongs", () => {
    expect(ids(patchedActive(list, [job("d", 4), job("x", 0), job("y", 2.5)]))).toEqual(["d", "c", "y", "b", "a", "x"]);
  });

  it("drops jobs that have ended and keeps the others as they were", () => {
    const patched = patchedActive(list, [job("b", 2, { ended: "2026-01-01T00:00:00Z" }), job("a", 1, { state: "running" })]);
    expect(ids(patched)).toEqual(["c", "a"]);
    expect(patched[0]).toBe(list[0]);
    expect(patched[1]?.state).toBe("running");
  });

  it("does not list tasks of arrays by themselves", () => {
    expect(ids(patchedActive(list, [job("c.1", 3, { array: { parent: "c", index: 1 } })]))).toEqual(["c", "b", "a"]);
  });
});

describe("the list of ended jobs", () => {
  const ended = { ended: "2026-01-01T00:00:00Z" };
  const list = [job("c", 3, ended), job("b", 2, ended)];

  it("takes a job that has just ended, but none that belongs into a later part", () => {
    expect(ids(patchedEnded(list, [job("d", 4, ended), job("a", 1, ended), job("e", 5)], false))).toEqual(["d", "c", "b"]);
    expect(ids(patchedEnded(list, [job("a", 1, ended)], true))).toEqual(["c", "b", "a"]);
  });
});

describe("renewed", () => {
  it("is the same list when nothing of it has changed", () => {
    const list = [job("a", 1)];
    expect(renewed(list, [job("b", 2)])).toBe(list);
  });
});
