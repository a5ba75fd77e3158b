import { type CSSProperties, type RefCallback, type RefObject, useCallback, useLayoutEffect, useRef, useState } from "react";

import { useRowsInSight } from "../../parts/rowsInSight";
import { cut, type Line } from "./logBook";

const LINE_PX = 18;
/** Closer to the end than this is at the end. */
const NEAR_PX = 40;
const AHEAD = 20;
/** Of so many lines that are not as high as others the height is known while they are out of sight. */
const REMEMBERED = 5000;

type Shown = { lines: Line[]; isMerged: boolean; wanted: string; current: number | null; nothing: string };

/** Lines that scroll along while one is at the end. Only those in sight are in the document. */
export function LogLines({ lines, isMerged, wanted, current, nothing }: Shown) {
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  /** What was found, and left again to follow the output. */
  const [left, setLeft] = useState<number | null>(null);
  const [heights, measured] = useHeights();
  const heightOf = (index: number) => heights.get(lines[index]?.number ?? -1) ?? LINE_PX;
  const shown = useRowsInSight(box, { count: lines.length, heightOf, ahead: AHEAD });
  useEnd(box, isFollowing && (current === null || current === left));
  useSought(box, current, heightOf);
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
        {lines.length === 0 ? nothing : <div style={{ height: shown.abovePx }} />}
        {lines.slice(shown.first, shown.end).map((line, place) => (
          <div
            key={line.number}
            ref={measured}
            data-number={line.number}
            className={shown.first + place === current ? "line current" : "line"}
          >
            {isMerged && (
              <span className="rank" style={hueOf(line.rank)}>
                {line.rank}{" "}
              </span>
            )}
            <Marked text={line.text} wanted={wanted} />
          </div>
        ))}
        <div style={{ height: shown.belowPx }} />
      </div>
      <button
        className="to-end"
        hidden={isFollowing || lines.length === 0}
        onClick={() => {
          setFollowing(true);
          setLeft(current);
        }}
      >
        Follow ↓
      </button>
    </div>
  );
}

type Heights = ReadonlyMap<number, number>;

/** How high lines turned out to be, by their numbers, because long ones are wrapped; and what tells the height of one. */
function useHeights(): [Heights, RefCallback<HTMLElement>] {
  const [heights, setHeights] = useState<Heights>(new Map());
  const [watching] = useState(
    () =>
      new ResizeObserver((lines) => {
        setHeights((before) => withNews(before, lines.map((each) => each.target as HTMLElement)));
      }),
  );
  const measured = useCallback(
    (line: HTMLElement | null) => {
      if (line !== null) {
        watching.observe(line);
      }
      return () => {
        if (line !== null) {
          watching.unobserve(line);
        }
      };
    },
    [watching],
  );
  return [heights, measured];
}

function withNews(before: Heights, lines: HTMLElement[]): Heights {
  const found = lines.map((line) => [Number(line.dataset["number"]), line.offsetHeight] as const);
  const news = found.filter(([number, px]) => px > 0 && px !== (before.get(number) ?? LINE_PX));
  return news.length > 0 ? new Map([...before, ...news].slice(-REMEMBERED)) : before;
}

/** Stay at the end, whatever comes. */
function useEnd(box: RefObject<HTMLElement | null>, isStaying: boolean): void {
  useLayoutEffect(() => {
    if (isStaying) {
      box.current?.scrollTo(0, box.current.scrollHeight);
    }
  });
}

/** Bring what was found into the middle, once: to where it should be, and when it is there, to where it is. */
function useSought(box: RefObject<HTMLElement | null>, current: number | null, heightOf: (index: number) => number): void {
  const brought = useRef<number>(null);
  useLayoutEffect(() => {
    if (current === null || current === brought.current || box.current === null) {
      brought.current = current;
      return;
    }
    const line = box.current.querySelector<HTMLElement>(".line.current");
    const above = Array.from({ length: current }, (_, index) => heightOf(index));
    const top = line?.offsetTop ?? above.reduce((sum, each) => sum + each, 0);
    box.current.scrollTo(0, top - (box.current.clientHeight - (line?.offsetHeight ?? 0)) / 2);
    brought.current = line === null ? null : current;
  });
}

/** Neighbours have colours that are far apart: each is turned by the golden angle. */
function hueOf(rank: number): CSSProperties {
  return { "--hue": `${Math.round((rank * 137.5) % 360)}` } as CSSProperties;
}

function Marked({ text, wanted }: { text: string; wanted: string }) {
  return cut(text, wanted).map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part || "\u200b"));
}
