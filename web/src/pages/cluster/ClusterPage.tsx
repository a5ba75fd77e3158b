import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useDeferredValue, useState } from "react";

import type { Node } from "../../api/client";
import { queries } from "../../api/queries";
import { Choice } from "../../parts/Choice";
import { Empty, Loaded } from "../../parts/Loaded";
import "./cluster.css";
import { GpuMap } from "./GpuMap";
import { Legend } from "./Legend";
import { NodePanel } from "./NodePanel";
import { type Paint, PAINTS } from "./paint";

const NONE: Node[] = [];

export function ClusterPage(): ReactNode {
  const nodes = useQuery(queries.nodes());
  const [paint, setPaint] = useState<Paint>("job");
  const [text, setText] = useState("");
  const [opened, setOpened] = useState<string>();
  const sought = useDeferredValue(text.trim().toLowerCase());
  const node = nodes.data?.find((each) => each.name === opened);
  return (
    <>
      <div className="row">
        <h1>Cluster</h1>
        <Choice label="Colour by" value={paint} options={PAINTS} shown={(each) => `colour by ${each}`} onChoose={setPaint} />
        <input
          type="search"
          placeholder="Highlight a job, team or node"
          aria-label="Highlight a job, team or node"
          value={text}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
      </div>
      <Legend paint={paint} nodes={nodes.data ?? NONE} onSeek={setText} />
      <Loaded query={nodes}>
        {(found) =>
          found.length === 0 ? (
            <Empty>There are no nodes yet. `muster up --nodes 4x8` makes some of this machine.</Empty>
          ) : (
            <GpuMap nodes={found} paint={paint} sought={sought} onOpen={setOpened} />
          )
        }
      </Loaded>
      {node && (
        <NodePanel
          node={node}
          onClose={() => {
            setOpened(undefined);
          }}
        />
      )}
    </>
  );
}
