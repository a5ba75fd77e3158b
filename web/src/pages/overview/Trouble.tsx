import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Job, Node } from "../../api/client";
import { Empty } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import { toneOfNode } from "../../words/states";

type Problem = { key: string; tone: string; what: string; where: ReactNode; why: ReactNode };

const SHOWN = 12;

/** Nodes, GPUs and jobs with which something is wrong. */
export function Trouble({ nodes, jobs }: { nodes: Node[]; jobs: Job[] }) {
  const problems = [...nodes.flatMap(ofNode), ...jobs.flatMap(ofJob)];
  if (problems.length === 0) {
    return <Empty>All {nodes.length} nodes are well, and no training is slow or stands still.</Empty>;
  }
  return (
    <>
      <table>
        <tbody>
          {problems.slice(0, SHOWN).map((each) => (
            <tr key={each.key}>
              <td>
                <span className={`badge tone-${each.tone}`}>{each.what}</span>
              </td>
              <td>{each.where}</td>
              <td>{each.why}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {problems.length > SHOWN && (
        <p className="soft small">
          and {problems.length - SHOWN} more: see <Link to="/nodes">Nodes</Link> and <Link to="/jobs">Jobs</Link>
        </p>
      )}
    </>
  );
}

function ofNode(node: Node): Problem[] {
  const found: Problem[] = [];
  const where = (
    <Link to="/nodes" search={{ node: node.name }}>
      {node.name}
    </Link>
  );
  if (node.state !== "ready") {
    const tone = toneOfNode(node.state);
    found.push({ key: node.name, tone, what: `node ${node.state}`, where, why: node.because ?? "no reason was given" });
  } else if (node.bad_gpus.length > 0) {
    const why = node.because ?? "out of service";
    found.push({ key: `${node.name} gpus`, tone: "bad", what: `GPU ${node.bad_gpus.join(", ")} bad`, where, why });
  }
  if (node.quarantined_gpus.length > 0) {
    const why = `GPU ${node.quarantined_gpus.join(", ")} is used by a gang that the server has not started`;
    found.push({ key: `${node.name} quarantine`, tone: "warn", what: "quarantine", where, why });
  }
  return found;
}

function ofJob(job: Job): Problem[] {
  const where = (
    <Link to="/jobs/$job" params={{ job: job.id }}>
      {job.name}
    </Link>
  );
  const found: Problem[] = job.stragglers.map((slow) => ({
    key: `${job.id} ${slow.rank}`,
    tone: "warn",
    what: "straggler",
    where,
    why: `rank ${slow.rank} on ${slow.node} takes ${slow.slowdown.toFixed(1)} times as long as the others`,
  }));
  if (job.hang) {
    const why = (
      <>
        no rank has made a step since <Time at={job.hang.since} />
      </>
    );
    found.push({ key: `${job.id} hang`, tone: "bad", what: "stands still", where, why });
  }
  return found;
}
