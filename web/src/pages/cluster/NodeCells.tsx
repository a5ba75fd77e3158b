import { memo } from "react";

import type { Node } from "../../api/client";
import { colourOfCell, conditionOf, type Paint } from "./paint";
import { type Seat, seatsOf } from "./placement";
import { isSoughtNode, isSoughtSeat } from "./seeking";

type Cells = { node: Node; paint: Paint; sought: string };

/** A node and its GPUs. Its name opens it. A node that is answered unchanged is the same object, and is not drawn again. */
export const NodeCells = memo(function NodeCells({ node, paint, sought }: Cells) {
  const isSought = isSoughtNode(node.name, sought);
  return (
    <div className={isSought ? "node sought" : "node"}>
      <button className="title" data-node={node.name} title={node.because ?? ""}>
        {node.name}
        {node.state !== "ready" && <span data-node={node.name}> {node.state}</span>}
      </button>
      <div className="cells">
        {seatsOf(node).map((on, gpu) => (
          <Cell key={gpu} node={node} gpu={gpu} on={on} paint={paint} isSought={isSought || on.some((seat) => isSoughtSeat(seat, sought))} />
        ))}
      </div>
    </div>
  );
});

type CellProps = { node: Node; gpu: number; on: Seat[]; paint: Paint; isSought: boolean };

function Cell({ node, gpu, on, paint, isSought }: CellProps) {
  const isOut = paint !== "health" && conditionOf(node, gpu) === "out";
  const colour = colourOfCell(node, gpu, on, paint);
  return (
    <span
      className={`cell${isOut ? " out" : ""}${isSought ? " sought" : ""}${on.length === 0 ? " free" : ""}`}
      style={colour === undefined || (isOut && on.length === 0) ? undefined : { background: colour }}
      data-testid="gpu-cell"
      data-node={node.name}
      data-gpu={gpu}
      data-job={on[0]?.job ?? ""}
    />
  );
}
