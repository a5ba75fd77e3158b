import type { Job, JobState } from "../../api/client";
import { inWords, isEndState, isJobState, toneOfJob } from "../../words/states";

/** How far an array is: a strip with a part for each state of its tasks. */
export function TaskBar({ job }: { job: Job }) {
  const counts = Object.entries(job.tasks ?? {}).filter(
    (each): each is [JobState, number] => isJobState(each[0]) && each[1] > 0,
  );
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  const ended = counts.reduce((sum, [state, count]) => sum + (isEndState(state) ? count : 0), 0);
  const said = counts.map(([state, count]) => `${count} ${inWords(state)}`).join(", ");
  return (
    <span className="task-bar" title={said} data-testid="job-state">
      <span className="strip" role="img" aria-label={said}>
        {counts.map(([state, count]) => (
          <span key={state} className={`tone-${toneOfJob(state)}`} style={{ flexGrow: count }} />
        ))}
      </span>
      <span className="small">
        {ended}/{all}
      </span>
    </span>
  );
}
