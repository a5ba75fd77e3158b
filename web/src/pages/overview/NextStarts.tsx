import { Link } from "@tanstack/react-router";

import type { WaitingStart } from "../../api/clusterQueries";
import { Empty } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import { gpus } from "../../words/amounts";

/** The jobs that start soonest, and what that rests on. */
export function NextStarts({ starts, waiting }: { starts: WaitingStart[]; waiting: number }) {
  if (starts.length === 0) {
    return waiting === 0 ? (
      <Empty>
        Nothing waits. A job that you <Link to="/submit">submit</Link> now starts at once if it fits.
      </Empty>
    ) : (
      <Empty>No job that you may see is in the queue.</Empty>
    );
  }
  return (
    <table className="stacks starts">
      <thead>
        <tr>
          <th>Job</th>
          <th className="number">GPUs</th>
          <th>Probably</th>
          <th title="Nine times in ten a job starts no later">Nine in ten by</th>
          <th>Promised by</th>
        </tr>
      </thead>
      <tbody>
        {starts.map((start) => (
          <tr key={start.job}>
            <td>
              <Link to="/jobs/$job" params={{ job: start.job }}>
                {start.name}
              </Link>
              <div className="soft small">{start.team}</div>
            </td>
            <td className="number" data-label="GPUs">
              {gpus(start.gpus)}
            </td>
            <td title={start.estimate?.rests_on ?? ""} data-label="Probably">
              <Time at={start.estimate?.p50 ?? start.hold?.start} />
            </td>
            <td data-label="Nine in ten by">
              <Time at={start.estimate?.p90} />
            </td>
            <td data-label="Promised by">{start.hold ? <Time at={start.hold.start} /> : <span className="soft">no promise</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
