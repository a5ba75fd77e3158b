/** Rows that keep their place while somebody reads them, however much happens. */

import { useCallback, useMemo, useRef, useState } from "react";

import type { Job } from "../../api/client";

export type Steady = {
  rows: Job[];
  /** Jobs that would be shown elsewhere in the list, or not at all any more. */
  waiting: number;
};

/**
 * The rows as they stood, each as its job is now. Jobs that belong behind the last row are added there; others wait
 * until the reader asks for them.
 */
export function steady(stood: readonly string[], wanted: Job[], known: ReadonlyMap<string, Job>): Steady {
  const now = new Map(wanted.map((job) => [job.id, job]));
  const before = new Set(stood);
  const rows = stood.map((id) => now.get(id) ?? known.get(id)).filter((job) => job !== undefined);
  const tail = wanted.slice(wanted.findLastIndex((job) => before.has(job.id)) + 1);
  const added = tail.length === wanted.length ? [] : tail;
  const gone = stood.filter((id) => !now.has(id)).length;
  const newer = wanted.length - added.length - (stood.length - gone);
  return { rows: [...rows, ...added], waiting: newer + gone };
}

export type Hold = {
  rows: Job[];
  waiting: number;
  /** Keep the rows where they are, for this reason, until it is given up. */
  hold: (reason: string) => void;
  giveUp: (reason: string) => void;
  /** Show the list as it is now. */
  settle: () => void;
};

/** `key` names the filters and the order: when they change, rows go where they belong. */
export function useSteady(wanted: Job[], justEnded: Job[], key: string): Hold {
  const [stood, setStood] = useState<{ key: string; ids: string[] } | null>(null);
  const reasons = useRef(new Set<string>());
  const isHeld = stood !== null && stood.key === key;
  const shown = useMemo(() => {
    const known = new Map(justEnded.map((job) => [job.id, job]));
    return isHeld ? steady(stood.ids, wanted, known) : { rows: wanted, waiting: 0 };
  }, [isHeld, stood, wanted, justEnded]);
  const ids = useCallback(() => ({ key, ids: shown.rows.map((job) => job.id) }), [key, shown]);
  const hold = useCallback(
    (reason: string) => {
      reasons.current.add(reason);
      setStood((before) => (before?.key === key ? before : ids()));
    },
    [key, ids],
  );
  const giveUp = useCallback((reason: string) => {
    reasons.current.delete(reason);
    if (reasons.current.size === 0) {
      setStood(null);
    }
  }, []);
  const settle = useCallback(() => {
    setStood(null);
  }, []);
  return { ...shown, hold, giveUp, settle };
}
