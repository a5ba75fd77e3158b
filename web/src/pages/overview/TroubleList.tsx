import { Link } from "@tanstack/react-router";

import type { Node } from "../../api/client";
import type { Trouble, Troubles } from "../../api/clusterQueries";
import { Empty } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import { toneOfNode } from "../../words/states";

const SHOWN = 12;

/** Nodes, GPUs and jobs with which something is wrong, in the words of the server. */
export function TroubleList({ troubles }: { troubles: Troubles }) {
  if (troubles.total === 0) {
    return <Empty>All nodes are well, and no training is slow or stands still.</Empty>;
  }
  const shown = troubles.items.slice(0, SHOWN);
  return (
    <>
      <table>
        <tbody>
          {shown.map((each) => (
            <tr key={`${each.kind} ${each.node ?? ""} ${each.job ?? ""} ${each.why}`}>
              <td>
                <span className={`badge tone-${toneOf(each)}`}>{each.what}</span>
              </td>
              <td>
                <Where trouble={each} />
              </td>
              <td>
                {each.why}
                {each.since && (
                  <span className="soft">
                    {" "}
                    · <Time at={each.since} />
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {troubles.total > shown.length && (
        <p className="soft small">
          and {troubles.total - shown.length} more: see <Link to="/nodes">Nodes</Link> and <Link to="/jobs">Jobs</Link>
        </p>
      )}
    </>
  );
}

function Where({ trouble }: { trouble: Trouble }) {
  if (trouble.job !== null) {
    return (
      <Link to="/jobs/$job" params={{ job: trouble.job }}>
        {trouble.name}
      </Link>
    );
  }
  return (
    <Link to="/nodes" search={{ node: trouble.node ?? undefined }}>
      {trouble.node}
    </Link>
  );
}

function toneOf(trouble: Trouble): string {
  switch (trouble.kind) {
    case "node":
      return toneOfNode(trouble.state as Node["state"]);
    case "gpus":
    case "hang":
      return "bad";
    case "quarantine":
    case "straggler":
      return "warn";
  }
}
