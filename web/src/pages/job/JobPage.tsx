import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import { Effects } from "../../parts/Effects";
import { Loaded } from "../../parts/Loaded";
import { Near } from "../../parts/Near";
import { JobStateBadge } from "../../parts/State";
import { holdMeans } from "../../words/holding";
import { Actions } from "./Actions";
import { Checkpoints } from "./Checkpoints";
import { Curve } from "./Curve";
import { EventList } from "./EventList";
import { Facts } from "./Facts";
import "./job.css";
import { JobFile } from "./JobFile";
import { Log } from "./Log";
import { Placement } from "./Placement";
import { Ranks } from "./Ranks";
import { StoryList } from "./StoryList";
import { Tasks } from "./Tasks";
import { Terminal } from "./Terminal";
import { JobTimeline } from "./Timeline";
import { Troubles } from "./Troubles";
import { WhyAndWhen } from "./WhyAndWhen";

export function JobPage(): ReactNode {
  const { job = "" }: { job?: string } = useParams({ strict: false });
  const found = useQuery(queries.job(job));
  return (
    <>
      {found.data === undefined && <h1>{job}</h1>}
      <Loaded query={found}>{(each) => <Shown key={each.id} job={each} />}</Loaded>
    </>
  );
}

function Shown({ job }: { job: Job }) {
  const isWaiting = job.workers.length === 0 && job.ended === null;
  return (
    <>
      <div className="row head">
        <h1>
          {job.name} <span className="soft small">{job.id}</span>
        </h1>
        <JobStateBadge job={job} />
        {job.array !== null && (
          <Link to="/jobs/$job" params={{ job: job.array.parent }}>
            task {job.array.index} of {job.array.parent}
          </Link>
        )}
        <Actions job={job} />
      </div>
      <Held job={job} />
      <Troubles job={job} />
      <Effects of={job.admission} />
      <Facts job={job} />
      {isWaiting && <WhyAndWhen job={job.id} />}
      {job.tasks === null ? <OfOne job={job} /> : <Tasks job={job} />}
      <StoryList job={job.id} />
      <JobFile job={job} />
      <EventList job={job.id} />
    </>
  );
}

function Held({ job }: { job: Job }) {
  const means = holdMeans(job);
  return (
    means !== undefined && (
      <p className="notice" data-testid="held">
        {means}
      </p>
    )
  );
}

/** What only a job by itself has, and an array as a whole has not. */
function OfOne({ job }: { job: Job }) {
  return (
    <>
      <JobTimeline job={job} />
      {job.workers.length > 0 && <Placement job={job} />}
      {job.progress && <Curve job={job.id} />}
      {job.progress && job.ended === null && (
        <Near heightPx={100}>
          <Ranks job={job.id} />
        </Near>
      )}
      {job.attempt > 0 && (
        <Near heightPx={440}>
          <Log key={`${job.id}/${job.attempt}`} job={job} />
        </Near>
      )}
      {job.state === "running" && <Terminal job={job} />}
      {job.attempt > 0 && (
        <Near heightPx={1}>
          <Checkpoints job={job} />
        </Near>
      )}
    </>
  );
}
