import type { Schema } from "../../api/client";

/** "n1 (8 GPUs)": the nodes of a placement in their order, each once, with what is taken of it. */
export function byNode(workers: readonly Schema["Worker"][]): string[] {
  const taken = new Map<string, number>();
  for (const worker of workers) {
    taken.set(worker.node, (taken.get(worker.node) ?? 0) + (worker.share ?? worker.gpus.length));
  }
  return [...taken].map(([node, count]) => (count > 0 ? `${node} (${count} ${count > 1 ? "GPUs" : "GPU"})` : node));
}
