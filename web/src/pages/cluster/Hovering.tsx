import { type PointerEvent, type ReactNode, useState } from "react";

import type { Node } from "../../api/client";
import { type Hovered, HoverCard } from "./HoverCard";

/** Shows what is under the pointer. Only the card is drawn when the pointer moves on: the map is handed through. */
export function Hovering({ nodes, children }: { nodes: Node[]; children: ReactNode }) {
  const [hovered, setHovered] = useState<Hovered>();
  const node = hovered && nodes.find((each) => each.name === hovered.node);
  const point = (event: PointerEvent<HTMLElement>) => {
    const { node: name, gpu } = (event.target as HTMLElement).dataset;
    setHovered(name && gpu ? { node: name, gpu: Number(gpu), x: event.clientX, y: event.clientY } : undefined);
  };
  return (
    <div
      onPointerOver={point}
      onPointerLeave={() => {
        setHovered(undefined);
      }}
    >
      {children}
      {node && <HoverCard hovered={hovered} node={node} />}
    </div>
  );
}
