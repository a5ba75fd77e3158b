/** Of a list of thousands of rows only those in sight, and some beside them, are in the document. */

import { type RefObject, useLayoutEffect, useState } from "react";

/** The rows from `first` to before `end`, and how high those above and below them are. */
export type Slice = { first: number; end: number; abovePx: number; belowPx: number };

type Rows = { count: number; heightOf: (index: number) => number; ahead: number };

/** The rows that reach into what is seen from `topPx` on, and `ahead` more on either side. */
export function sliceOf({ count, heightOf, ahead }: Rows, topPx: number, seenPx: number): Slice {
  const tops = [0];
  for (let index = 0; index < count; index += 1) {
    tops.push((tops[index] ?? 0) + heightOf(index));
  }
  const top = (index: number) => tops[index] ?? 0;
  const begun = tops.findLastIndex((each) => each <= topPx);
  const over = tops.findIndex((each) => each >= topPx + seenPx);
  const first = Math.max(0, Math.min(begun, count) - ahead);
  const end = Math.min(count, (over < 0 ? count : over) + ahead);
  return { first, end, abovePx: top(first), belowPx: top(count) - top(end) };
}

/** The part of a list that a reader has scrolled to. */
export function useRowsInSight(scroller: RefObject<HTMLElement | null>, rows: Rows): Slice {
  const [sight, setSight] = useState({ topPx: 0, seenPx: 0 });
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box === null) {
      return;
    }
    const look = () => {
      setSight({ topPx: box.scrollTop, seenPx: box.clientHeight });
    };
    look();
    const resized = new ResizeObserver(look);
    resized.observe(box);
    box.addEventListener("scroll", look, { passive: true });
    return () => {
      resized.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, [scroller]);
  return sliceOf(rows, sight.topPx, sight.seenPx);
}
