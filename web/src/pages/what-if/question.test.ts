import { describe, expect, it } from "vitest";

import type { Node } from "../../api/client";
import { asked, kinds, UNCHANGED } from "./question";

describe("what is asked of a simulation", () => {
  it("leaves out what stays as it is", () => {
    const question = { ...UNCHANGED, settings: { order: "" }, nodes: { n1: "" }, guaranteed: { nlp: "" } };
    expect(asked(question)).toEqual({ origin: "history", since_s: 604_800, policy: null, settings: {}, teams: {}, nodes: {} });
  });

  it("says numbers, words and yes or no as they are meant", () => {
    const settings = { order: "fifo", backfill: "false", hold_depth: "2", min_runtime: "10m" };
    expect(asked({ ...UNCHANGED, settings }).settings).toEqual({
      order: "fifo",
      backfill: false,
      hold_depth: 2,
      min_runtime: "10m",
    });
  });

  it("gives teams other guarantees and kinds of nodes other counts", () => {
    const body = asked({ ...UNCHANGED, guaranteed: { nlp: "16" }, nodes: { n1: "6" } });
    expect(body.teams).toEqual({ nlp: { guaranteed: { "*": 16 } } });
    expect(body.nodes).toEqual({ n1: 6 });
  });
});

it("counts nodes that are alike as one kind", () => {
  const node = (name: string, gpus: number): Node =>
    ({ name, gpus, gpu_type: null, pool: "main", cpus: 1, memory_bytes: 2 }) as Node;
  expect(kinds([node("n1", 8), node("n2", 8), node("n3", 4)])).toEqual([
    { like: "n1", count: 2, words: "8 GPUs, pool main" },
    { like: "n3", count: 1, words: "4 GPUs, pool main" },
  ]);
});
