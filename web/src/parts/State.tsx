import type { Job, Node } from "../api/client";
import { holdMeans, stateInWords } from "../words/holding";
import { inWords, toneOfJob, toneOfNode } from "../words/states";

export function JobStateBadge({ job }: { job: Job }) {
  return (
    <span className={`badge tone-${toneOfJob(job.state)}`} data-testid="job-state" title={holdMeans(job)}>
      {stateInWords(job)}
    </span>
  );
}

export function NodeStateBadge({ state }: { state: Node["state"] }) {
  return <span className={`badge tone-${toneOfNode(state)}`}>{inWords(state)}</span>;
}
