import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { Queue } from "../../api/client";
import { clusterQueries, type History, type Span } from "../../api/clusterQueries";
import { Empty } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import { duration } from "../../words/amounts";
import { colourOf } from "../../words/colours";
import { waitsOf } from "./waits";

type ByTier = { queue: Queue; history: History | undefined; span: Span };

/** Who waits in each tier, how long jobs waited, and what the policy promises. */
export function QueueByTier({ queue, history, span }: ByTier) {
  const policy = useQuery(clusterQueries.policy()).data;
  return (
    <>
      <div className="across">
        <table className="stacks">
          <thead>
            <tr>
              <th>Tier</th>
              <th className="number">Running</th>
              <th className="number">Waiting</th>
              <th>Oldest came</th>
              <th className="number">Mean wait</th>
              <th className="number">Longest wait</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(queue.tiers).map(([tier, crowd]) => {
              const waits = waitsOf(history?.tiers[tier]);
              return (
                <tr key={tier}>
                  <td title={crowd.preempts ? "May take GPUs from lower tiers." : ""}>{tier}</td>
                  <td className="number" data-label="Running">
                    {crowd.running}
                  </td>
                  <td className="number" data-label="Waiting">
                    {crowd.waiting}
                  </td>
                  <td data-label="Oldest came">{crowd.waiting > 0 ? <Time at={crowd.oldest} /> : <span className="soft">nobody waits</span>}</td>
                  <td className="number" data-label="Mean wait">
                    {waits ? duration(waits.mean_s) : "–"}
                  </td>
                  <td className="number" data-label="Longest wait">
                    {waits ? duration(waits.longest_s) : "–"}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p className="soft small">
        Waits are those of jobs that started in the last {span.replace(/^a /, "")}.{" "}
        {policy && (
          <>
            The policy: the first {policy.hold_depth} blocked jobs of a tier are promised a start, and so is a job that
            has waited longer than {policy.starvation_limit}.
            {policy.turns && policy.preemption && " Jobs that can resume take turns with newer ones."}
          </>
        )}
      </p>
    </>
  );
}

const SHOWN = 10;

export function QueueByTeam({ queue }: { queue: Queue }) {
  const teams = Object.entries(queue.teams).sort(
    ([, one], [, other]) => other.waiting - one.waiting || other.running - one.running,
  );
  if (teams.length === 0) {
    return <Empty>No team has a job.</Empty>;
  }
  const most = Math.max(...teams.map(([, crowd]) => crowd.waiting + crowd.running), 1);
  return (
    <>
      <table>
        <thead>
          <tr>
            <th>Team</th>
            <th className="number">Running</th>
            <th className="number">Waiting</th>
            <th className="wide-only" aria-label="In comparison" />
          </tr>
        </thead>
        <tbody>
          {teams.slice(0, SHOWN).map(([team, crowd]) => (
            <tr key={team}>
              <td>
                <Link to="/jobs" search={{ team }}>
                  {team}
                </Link>
              </td>
              <td className="number">{crowd.running}</td>
              <td className="number">{crowd.waiting}</td>
              <td className="wide-only crowd" aria-hidden="true">
                <span style={{ width: `${(100 * crowd.running) / most}%`, background: colourOf(team) }} />
                <span className="waits" style={{ width: `${(100 * crowd.waiting) / most}%`, borderColor: colourOf(team) }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {teams.length > SHOWN && <p className="soft small">and {teams.length - SHOWN} more teams</p>}
    </>
  );
}
