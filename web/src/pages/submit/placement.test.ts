import { expect, it } from "vitest";

import { byNode } from "./placement";

const worker = (rank: number, node: string, gpus: number[], share: number | null = null) => ({
  rank,
  role: "worker",
  node,
  gpus,
  share,
});

it("names each node once with the GPUs that are taken of it", () => {
  const workers = [worker(0, "n1", [0, 1]), worker(1, "n1", [2, 3]), worker(2, "n2", [0], 0.5), worker(3, "n3", [])];
  expect(byNode(workers)).toEqual(["n1 (4 GPUs)", "n2 (0.5 GPU)", "n3"]);
});
