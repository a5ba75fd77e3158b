import { describe, expect, it } from "vitest";

import type { Job } from "../../api/client";
import { endedFilters, matching, showsEnded, sorted } from "./filters";

const job = (id: string, more: Partial<Job> = {}): Job =>
  ({ id, name: id, team: "nlp/pre", user: "ann", tier: "standard", state: "queued", tags: {}, tasks: null, gpus: 1, ...more }) as Job;

const ids = (jobs: Job[]) => jobs.map((each) => each.id);

describe("filters", () => {
  const jobs = [
    job("a", { state: "running", tags: { project: "bert" } }),
    job("b", { team: "nlp", user: "bob" }),
    job("c", { team: "nlpx", tier: "urgent" }),
    job("d", { tasks: { running: 2, queued: 1 } }),
  ];

  it("take a team with all teams below it, and no other with the same beginning", () => {
    expect(ids(matching(jobs, { team: "nlp" }))).toEqual(["a", "b", "d"]);
  });

  it("agree with everything that is given", () => {
    expect(ids(matching(jobs, { team: "nlp", user: "ann", state: "running" }))).toEqual(["a", "d"]);
    expect(ids(matching(jobs, { tier: "urgent", user: "bob" }))).toEqual([]);
  });

  it("find every word in names, people and tags", () => {
    expect(ids(matching(jobs, { text: "PROJECT=bert ann" }))).toEqual(["a"]);
    expect(ids(matching(jobs, { text: "bert bob" }))).toEqual([]);
  });

  it("know which states are asked of the archive, and hand only those filters on", () => {
    expect(["ended", "failed", "active", "running", undefined, "nonsense"].map((state) => showsEnded({ state }))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(endedFilters({ state: "ended", team: "nlp", text: "x", sort: "name" })).toEqual({ team: "nlp" });
    expect(endedFilters({ state: "failed" })).toEqual({ state: "failed" });
  });
});

describe("sorting", () => {
  it("puts jobs without a value last, both ways, and keeps equal ones in place", () => {
    const jobs = [job("a", { gpus: 2 }), job("b", { gpus: 1 }), job("c", { gpus: 2 }), job("d", { gpus: 0 })];
    const value = (each: Job) => each.gpus || null;
    expect(ids(sorted(jobs, value, false))).toEqual(["b", "a", "c", "d"]);
    expect(ids(sorted(jobs, value, true))).toEqual(["a", "c", "b", "d"]);
  });
});
