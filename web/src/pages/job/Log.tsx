import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import type { Job, LogEvent } from "../../api/client";
import { followLogs, wholeLog } from "../../api/log";
import { queries } from "../../api/queries";
import { Choice } from "../../parts/Choice";
import { bytes } from "../../words/amounts";
import { allLines, EMPTY_BOOK, type LogBook, written } from "./logBook";
import { LogLines } from "./LogLines";
import { LogSearch, useLogSearch } from "./LogSearch";

/** Ranks that are merged; of larger gangs, the first. */
const MERGED = 32;
const ALL = "all";

/** What the ranks print, one or all together. It scrolls along while one is at its end. */
export function Log({ job }: { job: Job }) {
  const events = useQuery(queries.events(job.id)).data;
  const [chosenAttempt, setAttempt] = useState<number | null>(null);
  const attempt = chosenAttempt ?? job.attempt;
  const ranks = useMemo(() => ranksOf(job, events ?? [], attempt), [job, events, attempt]);
  const [chosen, setChosen] = useState("0");
  const rank = chosen === ALL || ranks.includes(Number(chosen)) ? chosen : "0";
  const attempts = Array.from({ length: job.attempt }, (_, index) => `${index + 1}`);
  return (
    <section className="sheet" aria-label="Output">
      <div className="row log-tools">
        <h2>Output</h2>
        {ranks.length > 1 && (
          <Choice
            label="Rank"
            value={rank}
            options={[ALL, ...ranks.map(String)]}
            shown={(each) => (each === ALL ? allWords(ranks.length) : `rank ${each}`)}
            onChoose={setChosen}
          />
        )}
        {attempts.length > 1 && (
          <Choice
            label="Attempt"
            value={`${attempt}`}
            options={attempts}
            shown={(each) => `attempt ${each}`}
            onChoose={(each) => {
              setAttempt(Number(each));
            }}
          />
        )}
        {rank !== ALL && <Download job={job.id} attempt={attempt} rank={Number(rank)} />}
      </div>
      <Followed
        key={`${attempt}/${rank}/${rank === ALL ? ranks.length : 1}`}
        job={job.id}
        attempt={attempt}
        ranks={rank === ALL ? ranks.slice(0, MERGED) : [Number(rank)]}
      />
    </section>
  );
}

function allWords(count: number): string {
  return count > MERGED ? `the first ${MERGED} ranks` : `all ${count} ranks`;
}

/** The ranks of an attempt: of the present one from the job, of others from what was said when they started. */
function ranksOf(job: Job, events: LogEvent[], attempt: number): number[] {
  const started = events.findLast((event) => event.kind === "job_started" && event["attempt"] === attempt);
  const workers = (started?.["workers"] ?? []) as Job["workers"];
  const present = attempt === job.attempt && job.workers.length > 0 ? job.workers : workers;
  return present.map((worker) => worker.rank);
}

function Followed({ job, attempt, ranks }: { job: string; attempt: number; ranks: number[] }) {
  const [book, setBook] = useState<LogBook>(EMPTY_BOOK);
  const [problem, setProblem] = useState("");
  const [skipped, setSkipped] = useState(0);
  const [isComplete, setComplete] = useState(false);
  const key = ranks.join(",");
  useEffect(
    () =>
      followLogs(job, attempt, key.split(",").map(Number), {
        onPrinted: (parts) => {
          setBook((before) => written(before, parts));
        },
        onProblem: setProblem,
        onSkipped: (count) => {
          setSkipped((before) => before + count);
        },
        onComplete: () => {
          setComplete(true);
        },
      }),
    [job, attempt, key],
  );
  const lines = useMemo(() => allLines(book), [book]);
  const search = useLogSearch(lines);
  return (
    <>
      <div className="row log-tools">
        <LogSearch search={search} />
        <span className="soft small">
          {lines.length === 1 ? "1 line" : `${lines.length} lines`}{book.dropped > 0 && `, ${book.dropped} older ones are not shown`}
          {skipped > 0 && `, the first ${bytes(skipped)} are not shown`}
          {isComplete && ", complete"}
          {ranks.length > 1 && "; lines have no times, so ranks are interleaved as they came"}
        </span>
      </div>
      <LogLines
        lines={lines}
        isMerged={ranks.length > 1}
        wanted={search.wanted}
        current={search.current}
        nothing={problem || (isComplete ? "It has printed nothing." : "It has printed nothing yet.")}
      />
    </>
  );
}

function Download({ job, attempt, rank }: { job: string; attempt: number; rank: number }) {
  const reading = useMutation({
    mutationFn: () => wholeLog(job, attempt, rank),
    onSuccess: (log) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(log);
      link.download = `${job}-${attempt}-${rank}.log`;
      link.click();
      URL.revokeObjectURL(link.href);
    },
  });
  return (
    <>
      <button
        disabled={reading.isPending}
        onClick={() => {
          reading.mutate();
        }}
      >
        {reading.isPending ? "Reading…" : "Download"}
      </button>
      {reading.error && (
        <span className="tone-bad" role="alert">
          {reading.error.message}
        </span>
      )}
    </>
  );
}
