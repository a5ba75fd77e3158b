/** Which jobs are on which GPU, and how nodes lie in the topology. */

import type { Node } from "../../api/client";
import { percent } from "../../words/amounts";

/** Who has a GPU, or a part of it. Of a job that one may not see, there is neither a name nor an id. */
export type Seat = { job: string; name: string; team: string; share: number };

const known = new WeakMap<Node, Seat[][]>();

/** The jobs on each GPU of a node, by its number: none, one, or several that share it. Found once for each node. */
export function seatsOf(node: Node): Seat[][] {
  const before = known.get(node);
  if (before !== undefined) {
    return before;
  }
  const found = seated(node);
  known.set(node, found);
  return found;
}

function seated(node: Node): Seat[][] {
  const found: Seat[][] = Array.from({ length: node.gpus }, () => []);
  for (const use of node.gpu_uses) {
    for (const gpu of use.gpus) {
      found[gpu]?.push({ job: use.job ?? "", name: use.name ?? "", team: use.team ?? "", share: use.share ?? 1 });
    }
  }
  return found;
}

/** A part of the cluster: a block, a rack, or all of it where there are no levels. */
export type Domain = { level: string; name: string; path: string; within: Domain[]; nodes: Node[] };

/** The nodes by their place, nested as the levels are. Order is as it comes from the server. */
export function topology(nodes: Node[]): Domain {
  const root: Domain = { level: "", name: "", path: "", within: [], nodes: [] };
  const found = new Map<string, Domain>();
  for (const node of nodes) {
    let here = root;
    for (const [level, name] of Object.entries(node.domains)) {
      const path = `${here.path}/${name}`;
      let next = found.get(path);
      if (next === undefined) {
        next = { level, name, path, within: [], nodes: [] };
        found.set(path, next);
        here.within.push(next);
      }
      here = next;
    }
    here.nodes.push(node);
  }
  return root;
}

/** The domain after a change, with every part of the one before in which nothing changed, so that it is not drawn again. */
export function kept(before: Domain | undefined, after: Domain): Domain {
  if (before?.path !== after.path || before.level !== after.level) {
    return after;
  }
  const parts = new Map(before.within.map((each) => [each.path, each]));
  const within = after.within.map((each) => kept(parts.get(each.path), each));
  return isSame(before.within, within) && isSame(before.nodes, after.nodes) ? before : { ...after, within };
}

function isSame<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((each, place) => each === other[place]);
}

/** All nodes of a domain, however deep. */
export function nodesOf(domain: Domain): Node[] {
  return [...domain.nodes, ...domain.within.flatMap(nodesOf)];
}

/** How much of a domain is in use, and how many of its nodes are down, which would otherwise look as if they were idle. */
export function busy(domain: Domain): string {
  const nodes = nodesOf(domain);
  const sum = (amount: (node: Node) => number) => nodes.reduce((all, node) => all + amount(node), 0);
  const inUse = `${percent(sum((node) => node.used.gpus), sum((node) => node.gpus))} in use`;
  const down = nodes.filter((node) => node.state === "down").length;
  return down === 0 ? inUse : `${inUse}, ${down} of ${nodes.length} down`;
}
