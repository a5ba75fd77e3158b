import { useEffect, useState } from "react";

import { fromNow } from "../words/amounts";
import { now as serverTime } from "../words/clock";

const TICK_MS = 1000;
const listeners = new Set<(now: number) => void>();
let timer: number | undefined;

/** One clock for all times on the page: the server's. */
export function useNow(): number {
  const [now, setNow] = useState(serverTime);
  useEffect(() => {
    listeners.add(setNow);
    timer ??= window.setInterval(() => {
      listeners.forEach((listener) => {
        listener(serverTime());
      });
    }, TICK_MS);
    return () => {
      listeners.delete(setNow);
      if (listeners.size === 0) {
        window.clearInterval(timer);
        timer = undefined;
      }
    };
  }, []);
  return now;
}

/** A moment in the reader's zone, to the second. */
export function exactTime(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}

/** A time from now, in the reader's zone, with the exact time on hover. */
export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) {
    return <span className="soft">–</span>;
  }
  return (
    <time dateTime={at} title={exactTime(at)}>
      {fromNow(at, now)}
    </time>
  );
}
