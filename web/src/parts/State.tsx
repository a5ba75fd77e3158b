import type { JobState, Node } from "../api/client";
import { inWords, toneOfJob, toneOfNode } from "../words/states";

export function JobStateBadge({ state }: { state: JobState }) {
  return (
    <span className={`badge tone-${toneOfJob(state)}`} data-testid="job-state">
      {inWords(state)}
    </span>
  );
}

export function NodeStateBadge({ state }: { state: Node["state"] }) {
  return <span className={`badge tone-${toneOfNode(state)}`}>{inWords(state)}</span>;
}
