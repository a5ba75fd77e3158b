import { useMemo, useState } from "react";

import { type History, type Span, SPANS } from "../../api/clusterQueries";
import { Choice } from "../../parts/Choice";
import { Empty } from "../../parts/Loaded";
import { BOUND, TimeChart } from "../../parts/TimeChart";
import { capacity, ofTopTeams, times, usedByPool, usedByTier, waitingByTier } from "../../words/series";

const KINDS = ["tier", "pool", "team"] as const;
type Kind = (typeof KINDS)[number];
const SPAN_NAMES = Object.keys(SPANS) as Span[];

const rounded = (value: number) => (value >= 100 ? value.toFixed(0) : String(Math.round(value * 10) / 10));

/** GPUs in use and jobs that wait, over time. */
export function OverTime({ history, span, onSpan }: { history: History; span: Span; onSpan: (span: Span) => void }) {
  const [kind, setKind] = useState<Kind>("tier");
  const when = useMemo(() => times(history), [history]);
  const used = useMemo(() => usedBy(history, kind), [history, kind]);
  const bound = useMemo(() => capacity(history, BOUND, "#8a8f8c"), [history]);
  const waiting = useMemo(
    () => (kind === "team" ? ofTopTeams(history, (team) => team.waiting_job_s) : waitingByTier(history)),
    [history, kind],
  );
  return (
    <section className="sheet over-time">
      <div className="row">
        <h2>Over time</h2>
        <Choice label="How far back" value={span} options={SPAN_NAMES} shown={(each) => `the last ${each.replace(/^a /, "")}`} onChoose={onSpan} />
        <Choice label="Divided by" value={kind} options={KINDS} shown={(each) => `by ${each}`} onChoose={setKind} />
      </div>
      {when.length < 2 ? (
        <Empty>There is no history yet. It begins with the first minutes of the server.</Empty>
      ) : (
        <div className="charts">
          <div>
            <h3>GPUs in use</h3>
            <TimeChart label="GPUs in use" times={when} series={used} stack bound={bound} shown={rounded} />
          </div>
          <div>
            <h3>Jobs waiting{kind === "pool" ? ", by tier" : ""}</h3>
            <TimeChart label="Jobs waiting" times={when} series={waiting} stack shown={rounded} />
          </div>
        </div>
      )}
    </section>
  );
}

function usedBy(history: History, kind: Kind) {
  switch (kind) {
    case "tier":
      return usedByTier(history);
    case "pool":
      return usedByPool(history);
    case "team":
      return ofTopTeams(history, (team) => team.used_gpu_s);
  }
}
