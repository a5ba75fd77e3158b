import type { Node } from "../../api/client";
import { percent } from "../../words/amounts";
import { conditionOf, shareOf } from "./paint";
import { seatsOf } from "./placement";

export type Hovered = { node: string; gpu: number; x: number; y: number };

const WIDTH_PX = 260;
const GAP_PX = 14;

type Card = { hovered: Hovered; node: Node };

/** What is under the pointer: the GPU, who uses it, and how it is. */
export function HoverCard({ hovered, node }: Card) {
  const found = seatsOf(node)[hovered.gpu] ?? [];
  const left = Math.max(8, Math.min(hovered.x + GAP_PX, window.innerWidth - WIDTH_PX - GAP_PX));
  return (
    <div className="hovercard sheet" role="tooltip" style={{ left, top: hovered.y + GAP_PX, width: WIDTH_PX }}>
      <b>
        {node.name} · GPU {hovered.gpu}
      </b>
      <span className="soft">
        {[node.gpu_type, `pool ${node.pool}`, ...Object.values(node.domains)].filter(Boolean).join(" · ")}
      </span>
      {found.map((seat, place) => (
        <span key={place}>
          {seat.job === "" ? (
            "a job that you may not see"
          ) : (
            <>
              {seat.name} <span className="soft">{seat.job}</span>, {seat.team}
            </>
          )}
          {seat.share < 1 && `, ${percent(seat.share, 1)} of it`}
        </span>
      ))}
      {found.length === 0 && <span>free</span>}
      {found.length > 1 && <span className="soft">{percent(shareOf(found), 1)} given to jobs</span>}
      <span className="soft">
        {conditionOf(node, hovered.gpu)}
        {node.because ? `: ${node.because}` : ""}
      </span>
    </div>
  );
}
