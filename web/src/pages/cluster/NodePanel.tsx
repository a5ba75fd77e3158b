import { useEffect, useRef } from "react";

import type { Node } from "../../api/client";
import { NodeDetail } from "../nodes/NodeDetail";

/** All about one node, beside the map. Escape closes it. */
export function NodePanel({ node, onClose }: { node: Node; onClose: () => void }) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    panel.current?.focus();
  }, [node.name]);
  return (
    <aside
      ref={panel}
      className="panel sheet"
      aria-label={`Node ${node.name}`}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) {
          onClose();
        }
      }}
    >
      <div className="row">
        <h2>{node.name}</h2>
        <button onClick={onClose}>Close</button>
      </div>
      <NodeDetail node={node} />
    </aside>
  );
}
