import { useNavigate } from "@tanstack/react-router";
import { memo, type MouseEvent, useState } from "react";

import type { Node } from "../../api/client";
import { Hovering } from "./Hovering";
import { InSight } from "./InSight";
import { NodeCells } from "./NodeCells";
import type { Paint } from "./paint";
import { busy, type Domain, kept, topology } from "./placement";

type MapProps = {
  nodes: Node[];
  paint: Paint;
  /** What is highlighted, in small letters; empty when nothing is. */
  sought: string;
  /** The nodes are some of those that there are, so that nothing can be said of how busy their racks are. */
  isPart?: boolean;
  onOpen: (node: string) => void;
};

/** The nodes by their topology, every GPU a cell. One handler serves all cells, since there may be thousands. */
export function GpuMap({ nodes, paint, sought, isPart = false, onOpen }: MapProps) {
  const navigate = useNavigate();
  const root = useTopology(nodes);
  const follow = (event: MouseEvent<HTMLElement>) => {
    const { job, node } = (event.target as HTMLElement).dataset;
    if (job) {
      void navigate({ to: "/jobs/$job", params: { job } });
    } else if (node) {
      onOpen(node);
    }
  };
  return (
    <div className={sought ? "map seeking" : "map"} onClick={follow}>
      <Hovering nodes={nodes}>
        <Part domain={root} paint={paint} sought={sought} isPart={isPart} />
      </Hovering>
    </div>
  );
}

/** The topology, with the same objects for all parts in which nothing changed. */
function useTopology(nodes: Node[]): Domain {
  const [shown, setShown] = useState(() => ({ nodes, root: topology(nodes) }));
  if (shown.nodes === nodes) {
    return shown.root;
  }
  const root = kept(shown.root, topology(nodes));
  setShown({ nodes, root });
  return root;
}

type PartProps = { domain: Domain; paint: Paint; sought: string; isPart: boolean };

const Part = memo(function Part({ domain, paint, sought, isPart }: PartProps) {
  const inner = (
    <>
      {domain.within.length > 0 && (
        <div className="within">
          {domain.within.map((each) => (
            <Part key={each.path} domain={each} paint={paint} sought={sought} isPart={isPart} />
          ))}
        </div>
      )}
      {domain.nodes.length > 0 && (
        <InSight items={domain.nodes.length}>
          {(from, to) => (
            <div className="nodes">
              {domain.nodes.slice(from, to).map((node) => (
                <NodeCells key={node.name} node={node} paint={paint} sought={sought} />
              ))}
            </div>
          )}
        </InSight>
      )}
    </>
  );
  return domain.name === "" ? (
    inner
  ) : (
    <section className={`domain ${domain.within.length > 0 ? "outer" : ""}`} aria-label={`${domain.level} ${domain.name}`}>
      <div className="title">
        {domain.level} <b>{domain.name}</b> {!isPart && <span>{busy(domain)}</span>}
      </div>
      {inner}
    </section>
  );
});
