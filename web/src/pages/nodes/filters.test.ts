import { expect, test } from "vitest";

import type { Node } from "../../api/client";
import { matches, shownOf } from "./filters";

const node = (fields: Partial<Node>): Node =>
  ({
    name: "n1",
    state: "ready",
    gpus: 8,
    gpu_type: "h100",
    pool: "main",
    domains: { rack: "r7" },
    bad_gpus: [],
    quarantined_gpus: [],
    used: { gpus: 0, cpus: 0, memory_bytes: 0 },
    because: null,
    labels: ["ib"],
    ...fields,
  }) as Node;

test("a node is found by its place, type, label and reason", () => {
  for (const text of ["n1", "H100", "r7", "ib", " main "]) {
    expect(matches(node({}), "all", text)).toBe(true);
  }
  expect(matches(node({ because: "fan" }), "all", "fan")).toBe(true);
  expect(matches(node({}), "all", "n2")).toBe(false);
});

test("a ready node with a bad GPU is not well", () => {
  expect(matches(node({}), "not well", "")).toBe(false);
  expect(matches(node({ bad_gpus: [3] }), "not well", "")).toBe(true);
  expect(matches(node({ state: "drained" }), "not well", "")).toBe(true);
});

test("the node that was asked for is shown, however many there are", () => {
  const nodes = ["a", "b", "c", "d"].map((name) => node({ name }));
  const names = (opened?: string) => shownOf(nodes, opened, 2).map((each) => each.name);
  expect(names()).toEqual(["a", "b"]);
  expect(names("b")).toEqual(["a", "b"]);
  expect(names("d")).toEqual(["d", "a", "b"]);
  expect(names("nowhere")).toEqual(["a", "b"]);
});
