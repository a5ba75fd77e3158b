import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, useEffect, useRef, useState } from "react";

import { cut, type Line } from "./logBook";

const LINE_PX = 18;
/** Closer to the end than this is at the end. */
const NEAR_PX = 40;
const AHEAD = 20;

type Shown = { lines: Line[]; isMerged: boolean; wanted: string; current: number | null; nothing: string };

/** Lines that scroll along while one is at the end. Only those in sight are in the document. */
export function LogLines({ lines, isMerged, wanted, current, nothing }: Shown) {
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  const shown = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    getItemKey: (index) => lines[index]?.number ?? index,
    overscan: AHEAD,
  });
  useEffect(() => {
    if (isFollowing && current === null && lines.length > 0) {
      shown.scrollToIndex(lines.length - 1, { align: "end" });
    }
  }, [lines.length, isFollowing, current, shown]);
  useEffect(() => {
    if (current !== null) {
      shown.scrollToIndex(current, { align: "center" });
    }
  }, [current, shown]);
  return (
    <div className="log-box">
      <div
        className="log"
        data-testid="log"
        role="log"
        aria-label="Output of the job"
        aria-live="off"
        tabIndex={0}
        ref={box}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          setFollowing(scrollHeight - scrollTop - clientHeight < NEAR_PX);
        }}
      >
        {lines.length === 0 ? (
          nothing
        ) : (
          <div className="all" style={{ height: shown.getTotalSize() }}>
            {shown.getVirtualItems().map((item) => {
              const line = lines[item.index];
              return line === undefined ? null : (
                <div
                  key={item.key}
                  ref={shown.measureElement}
                  data-index={item.index}
                  className={item.index === current ? "line current" : "line"}
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  {isMerged && (
                    <span className="rank" style={hueOf(line.rank)}>
                      {line.rank}{" "}
                    </span>
                  )}
                  <Marked text={line.text} wanted={wanted} />
                </div>
              );
            })}
          </div>
        )}
      </div>
      <button
        className="to-end"
        hidden={isFollowing || lines.length === 0}
        onClick={() => {
          setFollowing(true);
          shown.scrollToIndex(lines.length - 1, { align: "end" });
        }}
      >
        Follow ↓
      </button>
    </div>
  );
}

/** Neighbours have colours that are far apart: each is turned by the golden angle. */
function hueOf(rank: number): CSSProperties {
  return { "--hue": `${Math.round((rank * 137.5) % 360)}` } as CSSProperties;
}

function Marked({ text, wanted }: { text: string; wanted: string }) {
  return cut(text, wanted).map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part || "\u200b"));
}
