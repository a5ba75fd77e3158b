/** What is asked of a simulation, as the page holds it while somebody fills it in. */

import type { Node } from "../../api/client";
import type { Asked } from "./queries";

export type Question = {
  origin: "history" | "present";
  days: string;
  policy: string;
  settings: Record<string, string>;
  guaranteed: Record<string, string>;
  nodes: Record<string, string>;
};

export const UNCHANGED: Question = { origin: "history", days: "7", policy: "", settings: {}, guaranteed: {}, nodes: {} };

/** The question as the API takes it. What is empty stays as it is today. */
export function asked(question: Question): Asked {
  const { origin, days, policy } = question;
  return {
    origin,
    since_s: Math.max(Number(days) || 7, 0.01) * 86_400,
    policy: policy === "" ? null : policy,
    settings: entries(question.settings, setting),
    teams: entries(question.guaranteed, (value) => ({ guaranteed: { "*": Number(value) } })),
    nodes: entries(question.nodes, Number),
  };
}

function entries<T>(given: Record<string, string>, read: (value: string) => T): Record<string, T> {
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => [name, read(value)]),
  );
}

function setting(value: string): unknown {
  if (value === "true" || value === "false") {
    return value === "true";
  }
  return /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

export type Kind = { like: string; count: number; words: string };

/** The kinds of nodes there are: one node of each, and how many are like it. */
export function kinds(nodes: readonly Node[]): Kind[] {
  const found = new Map<string, Kind>();
  for (const node of nodes) {
    const words = `${node.gpus} ${node.gpu_type ?? ""} GPUs, pool ${node.pool}`.replace("  ", " ");
    const key = JSON.stringify([words, node.cpus, node.memory_bytes]);
    const kind = found.get(key) ?? { like: node.name, count: 0, words };
    found.set(key, { ...kind, count: kind.count + 1 });
  }
  return [...found.values()];
}
