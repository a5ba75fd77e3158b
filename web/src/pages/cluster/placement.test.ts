import { expect, test } from "vitest";

import type { Node } from "../../api/client";
import { busy, kept, nodesOf, seatsOf, topology } from "./placement";

const node = (name: string, domains: Record<string, string>) => ({ name, domains }) as unknown as Node;

test("nodes are nested as the levels are", () => {
  const root = topology([
    node("n1", { block: "b1", rack: "r1" }),
    node("n2", { block: "b1", rack: "r2" }),
    node("n3", { block: "b2", rack: "r1" }),
  ]);
  expect(root.within.map((block) => [block.name, block.within.map((rack) => rack.path)])).toEqual([
    ["b1", ["/b1/r1", "/b1/r2"]],
    ["b2", ["/b2/r1"]],
  ]);
  expect(nodesOf(root).map((each) => each.name)).toEqual(["n1", "n2", "n3"]);
});

test("without levels all nodes are in one place", () => {
  expect(topology([node("n1", {}), node("n2", {})]).nodes).toHaveLength(2);
});

test("jobs that share a GPU are all on it, and one that may not be seen has no name", () => {
  const uses = [
    { job: "a", name: "a", team: "nlp", gpus: [0, 1], share: null },
    { job: "b", name: "b", team: "nlp", gpus: [2], share: 0.25 },
    { job: null, name: null, team: null, gpus: [2], share: 0.5 },
  ];
  const found = seatsOf({ ...node("n1", {}), gpus: 4, gpu_uses: uses });
  expect(found.map((seats) => seats.map((seat) => [seat.job, seat.share]))).toEqual([
    [["a", 1]],
    [["a", 1]],
    [
      ["b", 0.25],
      ["", 0.5],
    ],
    [],
  ]);
});

test("the jobs on the GPUs of a node are found once", () => {
  const one = { gpus: 1, gpu_uses: [] } as unknown as Node;
  expect(seatsOf(one)).toBe(seatsOf(one));
  expect(seatsOf({ ...one })).not.toBe(seatsOf(one));
});

test("parts of the topology in which nothing changed stay the same objects", () => {
  const [n1, n2, n3] = [node("n1", { rack: "r1" }), node("n2", { rack: "r2" }), node("n3", { rack: "r2" })];
  const before = topology([n1, n2, n3]);
  expect(kept(before, topology([n1, n2, n3]))).toBe(before);
  const after = kept(before, topology([n1, node("n2", { rack: "r2" }), n3]));
  expect(after).not.toBe(before);
  expect(after.within[0]).toBe(before.within[0]);
  expect(after.within[1]).not.toBe(before.within[1]);
  const fewer = kept(before, topology([n2, n3]));
  expect(fewer.within).toEqual([before.within[1]]);
  expect(fewer.within[0]).toBe(before.within[1]);
});

test("nodes that are down are not taken for idle ones", () => {
  const of = (state: string, used: number) => ({ ...node("n", {}), state, gpus: 8, used: { gpus: used } }) as unknown as Node;
  expect(busy(topology([of("ready", 8), of("drained", 0)]))).toBe("50 % in use");
  expect(busy(topology([of("ready", 8), of("down", 0), of("down", 0), of("ready", 8)]))).toBe("50 % in use, 2 of 4 down");
});
