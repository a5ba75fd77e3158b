import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import { useNow } from "../../parts/Time";
import { duration } from "../../words/amounts";
import { type Mark, said, type Span, timeline } from "./spans";

const WIDTH = 1000;
const LANE = 26;
/** Narrower than this is not seen. */
const LEAST = 2;

const SIGNS: Record<Mark["kind"], [string, string]> = {
  saved: ["◆", "good"],
  preempted: ["▼", "warn"],
  resized: ["◧", "wait"],
  trouble: ["!", "bad"],
  ended: ["■", "calm"],
};

/** How the job spent its time: what it waited and ran, and what happened to it meanwhile. */
export function JobTimeline({ job }: { job: Job }) {
  const story = useQuery(queries.story(job.id));
  const events = useQuery(queries.events(job.id));
  const found = useMemo(
    () => timeline(story.data?.sentences ?? [], events.data ?? []),
    [story.data, events.data],
  );
  const now = useNow();
  const [told, setTold] = useState("");
  if (found.spans.length === 0) {
    return <section className="sheet timeline-sheet" aria-label="Timeline" />;
  }
  const end = Math.max(found.to ?? now, found.from + 1000);
  const x = (at: number) => ((at - found.from) / (end - found.from)) * WIDTH;
  const lasted = (span: Span) => duration(((span.to ?? now) - span.from) / 1000);
  return (
    <section className="sheet timeline-sheet" aria-label="Timeline">
      <h2>Timeline</h2>
      <svg
        className="timeline"
        viewBox={`0 0 ${WIDTH} ${LANE}`}
        preserveAspectRatio="none"
        aria-hidden
        onPointerLeave={() => {
          setTold("");
        }}
      >
        {found.spans.map((span) => (
          <rect
            key={`${span.from} ${span.phase}`}
            className={`phase-${span.phase}`}
            x={x(span.from)}
            width={Math.max(x(span.to ?? end) - x(span.from), LEAST)}
            y={0}
            height={LANE}
            onPointerEnter={() => {
              setTold(said(span, lasted(span)));
            }}
          />
        ))}
      </svg>
      <div className="timeline-marks" aria-hidden>
        {found.marks.map((mark) => (
          <span
            key={`${mark.at} ${mark.kind} ${mark.text}`}
            className={`tone-${SIGNS[mark.kind][1]}`}
            style={{ left: `${x(mark.at) / 10}%` }}
            title={`${new Date(mark.at).toLocaleTimeString()}: ${mark.text}`}
          >
            {SIGNS[mark.kind][0]}
          </span>
        ))}
      </div>
      <p className="row small soft timeline-words" aria-hidden>
        <span>{new Date(found.from).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" })}</span>
        <span className="told">{told || <Legend />}</span>
        <span>{found.to === null ? "now" : new Date(found.to).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" })}</span>
      </p>
      <ol className="heard">
        {found.spans.map((span) => (
          <li key={`${span.from} ${span.phase}`}>{said(span, lasted(span))}</li>
        ))}
        {found.marks.map((mark) => (
          <li key={`${mark.at} ${mark.kind} ${mark.text}`}>{mark.text}</li>
        ))}
      </ol>
    </section>
  );
}

const PHASES = ["waiting", "starting", "running", "leaving"] as const;

function Legend() {
  return (
    <span className="timeline-legend">
      {PHASES.map((phase) => (
        <span key={phase}>
          <i className={`phase-${phase}`} /> {phase}
        </span>
      ))}
      {["◆ saved", "▼ told to leave", "◧ resized", "■ ended"].map((mark) => (
        <span key={mark}>{mark}</span>
      ))}
    </span>
  );
}
