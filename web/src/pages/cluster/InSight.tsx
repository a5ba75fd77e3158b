import { type ReactNode, useEffect, useRef, useState } from "react";

/** Few enough to be drawn at once. */
const CHUNK = 24;
/** About what a node with its cells takes, until it was drawn once. */
const NODE_HEIGHT_PX = 42;
const NODES_PER_ROW = 4;
/** How far outside of the window something is drawn already. */
const MARGIN = "400px";

type Parts = { items: number; children: (from: number, to: number) => ReactNode };

/** Draws only what is in sight, a chunk at a time. What is out of sight keeps its height, so that nothing jumps. */
export function InSight({ items, children }: Parts) {
  const starts = Array.from({ length: Math.ceil(items / CHUNK) }, (_, place) => place * CHUNK);
  return (
    <>
      {starts.map((from) => (
        <Chunk key={from} items={Math.min(CHUNK, items - from)} draw={() => children(from, from + CHUNK)} />
      ))}
    </>
  );
}

function Chunk({ items, draw }: { items: number; draw: () => ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const [isShown, setShown] = useState(false);
  const [height, setHeight] = useState(Math.ceil(items / NODES_PER_ROW) * NODE_HEIGHT_PX);
  useEffect(() => {
    const box = place.current;
    if (box === null) {
      return;
    }
    const watching = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        if (last !== undefined) {
          setHeight(last.boundingClientRect.height);
          setShown(last.isIntersecting);
        }
      },
      { rootMargin: MARGIN },
    );
    watching.observe(box);
    return () => {
      watching.disconnect();
    };
  }, []);
  return (
    <div ref={place} style={isShown ? undefined : { height }}>
      {isShown && draw()}
    </div>
  );
}
