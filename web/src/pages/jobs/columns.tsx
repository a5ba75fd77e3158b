import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Job } from "../../api/client";
import { JobStateBadge } from "../../parts/State";
import { Time } from "../../parts/Time";
import { duration, gpus } from "../../words/amounts";
import { TaskBar } from "./TaskBar";

export type Column = {
  id: string;
  name: string;
  /** Its width; the first column takes what is left. */
  px: number;
  isNumber?: true;
  /** Shown on a phone, too. */
  isNarrow?: true;
  value: (job: Job) => string | number | null;
  cell?: (job: Job) => ReactNode;
};

/** What can be shown of a job in a list. */
export const COLUMNS: readonly Column[] = [
  {
    id: "name",
    name: "Job",
    px: 260,
    isNarrow: true,
    value: (job) => job.name,
    cell: (job) => (
      <Link to="/jobs/$job" params={{ job: job.id }} title={job.name} tabIndex={-1}>
        <span>{job.array === null ? job.name : `task ${job.array.index}`}</span> <span className="soft small">{job.id}</span>
      </Link>
    ),
  },
  {
    id: "state",
    name: "State",
    px: 130,
    isNarrow: true,
    value: (job) => job.state,
    cell: (job) => (job.tasks ? <TaskBar job={job} /> : <JobStateBadge job={job} />),
  },
  { id: "team", name: "Team", px: 170, value: (job) => job.team },
  { id: "user", name: "User", px: 90, value: (job) => job.user },
  { id: "tier", name: "Tier", px: 110, value: (job) => job.tier },
  { id: "priority", name: "Priority", px: 94, isNumber: true, value: (job) => job.priority },
  { id: "gpus", name: "GPUs", px: 84, isNumber: true, isNarrow: true, value: (job) => job.gpus, cell: (job) => gpus(job.gpus) },
  { id: "nodes", name: "Nodes", px: 140, value: (job) => nodesOf(job) || null },
  { id: "submitted", name: "Submitted", px: 140, value: (job) => job.submitted, cell: (job) => <Time at={job.submitted} /> },
  { id: "started", name: "Started", px: 140, value: (job) => startOf(job), cell: (job) => <Time at={startOf(job)} /> },
  { id: "ended", name: "Ended", px: 140, value: (job) => job.ended, cell: (job) => <Time at={job.ended} /> },
  { id: "attempt", name: "Attempt", px: 94, isNumber: true, value: (job) => job.attempt },
  { id: "preemptions", name: "Preempted", px: 110, isNumber: true, value: (job) => job.preemptions },
  { id: "gpu_time", name: "GPU time", px: 124, isNumber: true, value: (job) => job.gpu_seconds, cell: (job) => duration(job.gpu_seconds) },
  { id: "tags", name: "Tags", px: 180, value: (job) => tagsOf(job) || null },
];

const AT_FIRST = ["name", "state", "team", "user", "tier", "gpus", "submitted", "started"];
const REMEMBERED = "muster.jobs.columns";

/** The columns that were chosen last, in this browser. */
export function rememberedColumns(): string[] {
  const chosen = localStorage.getItem(REMEMBERED)?.split(",") ?? AT_FIRST;
  return COLUMNS.map((each) => each.id).filter((id) => id === "name" || chosen.includes(id));
}

export function rememberColumns(chosen: readonly string[]): void {
  localStorage.setItem(REMEMBERED, chosen.join(","));
}

function startOf(job: Job): string | null {
  return job.started ?? job.first_started;
}

function nodesOf(job: Job): string {
  return [...new Set(job.workers.map((worker) => worker.node))].join(", ");
}

function tagsOf(job: Job): string {
  return Object.entries(job.tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");
}
