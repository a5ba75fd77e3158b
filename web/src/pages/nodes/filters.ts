import type { Node } from "../../api/client";

export const FILTERS = ["all", "not well", "busy", "free"] as const;
export type Filter = (typeof FILTERS)[number];

export function matches(node: Node, filter: Filter, text: string): boolean {
  return isKind(node, filter) && saysOf(node).includes(text.trim().toLowerCase());
}

/** The first of them, and the one that was asked for by its name. Then it comes first if it would not be seen. */
export function shownOf(nodes: Node[], opened: string | undefined, limit: number): Node[] {
  const first = nodes.slice(0, limit);
  const sought = nodes.slice(limit).find((node) => node.name === opened);
  return sought === undefined ? first : [sought, ...first];
}

function isKind(node: Node, filter: Filter): boolean {
  switch (filter) {
    case "all":
      return true;
    case "not well":
      return node.state !== "ready" || node.bad_gpus.length > 0 || node.quarantined_gpus.length > 0;
    case "busy":
      return node.used.gpus > 0;
    case "free":
      return node.used.gpus === 0;
  }
}

function saysOf(node: Node): string {
  const places = Object.values(node.domains);
  const words = [node.name, node.gpu_type ?? "", node.pool, node.state, node.because ?? "", ...places, ...node.labels];
  return words.join(" ").toLowerCase();
}
