import type { ReactNode } from "react";

import type { Job } from "../../api/client";
import { Time, useNow } from "../../parts/Time";
import { duration, gpus, seconds } from "../../words/amounts";
import { inWords } from "../../words/states";

type Fact = [name: string, value: ReactNode];

/** What is known of a job at a glance. */
export function Facts({ job }: { job: Job }) {
  const facts = [...asked(job), ...life(job), ...(job.progress ? progress(job.progress) : [])];
  return (
    <dl className="facts sheet">
      {facts.map(([name, value]) => (
        <div key={name} className={name === "Image" ? "wide" : ""}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What is shown of the job file where it says something. */
const FROM_THE_FILE = [
  ["Image", "image"],
  ["Engine", "engine"],
  ["Profile", "profile"],
] as const;

function asked(job: Job): Fact[] {
  const tags = Object.entries(job.tags);
  return [
    ["Team", job.team],
    ["User", job.user],
    ["Tier", `${job.tier}, priority ${job.priority}`],
    ["GPUs", gpus(job.gpus)],
    ...FROM_THE_FILE.flatMap(([name, key]): Fact[] => (typeof job.spec[key] === "string" ? [[name, job.spec[key]]] : [])),
    ...(tags.length > 0 ? [["Tags", tags.map(([key, value]) => `${key}=${value}`).join(", ")] as Fact] : []),
  ];
}

function life(job: Job): Fact[] {
  const facts: [string, ReactNode, boolean][] = [
    ["Submitted", <Time key="submitted" at={job.submitted} />, true],
    ["Started", <Time key="started" at={job.started ?? job.first_started} />, true],
    ["Runs until", <Limit key="limit" job={job} />, job.started !== null && job.max_duration_s !== null],
    ["Ended", <Time key="ended" at={job.ended} />, job.ended !== null],
    ["Because of", inWords(job.reason ?? ""), job.reason !== null],
    ["Exit code", job.exit_code, job.exit_code !== null],
    ["Attempt", job.attempt, job.tasks === null],
    ["Preempted", job.preemptions, true],
    ["Lost nodes", job.node_failures, job.node_failures > 0],
    ["GPU time", duration(job.gpu_seconds), true],
    ["Last saved", <Time key="saved" at={job.checkpointed} />, job.checkpointed !== null],
    ["Last printed", <Time key="printed" at={job.last_output} />, job.last_output !== null],
  ];
  return facts.filter(([, , isKnown]) => isKnown).map(([name, value]) => [name, value]);
}

/** When its time is over, and how much of it is used. */
function Limit({ job }: { job: Job }) {
  const now = useNow();
  const started = Date.parse(job.started ?? "");
  const limit = (job.max_duration_s ?? 0) * 1000;
  const used = Math.min(1, Math.max(0, (now - started) / limit));
  return (
    <>
      <Time at={new Date(started + limit).toISOString()} />{" "}
      <span className="soft small">{Math.round(used * 100)} % used</span>
    </>
  );
}

function progress(known: NonNullable<Job["progress"]>): Fact[] {
  return [
    ["Step", known.step],
    ...(known.step_s
      ? [["Step time", `${seconds(known.step_s.p50)}, 99 % below ${seconds(known.step_s.p99)}`] as Fact]
      : []),
    ["Last step", <Time key="step" at={known.last_step_at} />],
  ];
}
