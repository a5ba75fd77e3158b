import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { clusterQueries, type History, type Span, SPANS } from "../../api/clusterQueries";
import { Choice } from "../../parts/Choice";
import { Empty, Loaded } from "../../parts/Loaded";
import { TimeChart } from "../../parts/TimeChart";
import { gpus, money } from "../../words/amounts";
import { ofTopTeams, times } from "../../words/series";

const SPAN_NAMES = Object.keys(SPANS) as Span[];
const HOUR_S = 3600;
const rounded = (value: number) => gpus(Math.round(value * 10) / 10);

/** What teams used, borrowed and cost over time. */
export function Usage() {
  const [span, setSpan] = useState<Span>("a day");
  const history = useQuery(clusterQueries.history(span));
  return (
    <section className="sheet usage">
      <div className="row">
        <h2>Over time</h2>
        <Choice
          label="How far back"
          value={span}
          options={SPAN_NAMES}
          shown={(each) => `the last ${each.replace(/^a /, "")}`}
          onChoose={setSpan}
        />
      </div>
      <Loaded query={history}>{(found) => <UsageOf history={found} />}</Loaded>
    </section>
  );
}

function UsageOf({ history }: { history: History }) {
  const when = useMemo(() => times(history), [history]);
  const used = useMemo(() => ofTopTeams(history, (team) => team.used_gpu_s), [history]);
  const borrowed = useMemo(() => ofTopTeams(history, (team) => team.borrowed_gpu_s), [history]);
  const spent = useMemo(() => ofTopTeams(history, (team) => (team.cost ?? []).map((cost) => cost * HOUR_S)), [history]);
  const teams = Object.entries(history.teams);
  if (teams.length === 0) {
    return <Empty>No team has used anything in this time.</Empty>;
  }
  const isPriced = teams.some(([, team]) => team.cost !== null);
  return (
    <>
      {when.length > 1 && (
        <div className="charts">
          <div>
            <h3>GPUs used</h3>
            <TimeChart label="GPUs used by team" times={when} series={used} stack shown={rounded} />
          </div>
          <div>
            <h3>GPUs borrowed</h3>
            <TimeChart label="GPUs borrowed by team" times={when} series={borrowed} stack shown={rounded} />
          </div>
          {isPriced && (
            <div>
              <h3>Cost of an hour</h3>
              <TimeChart label="Cost of an hour by team" times={when} series={spent} stack shown={money} />
            </div>
          )}
        </div>
      )}
      <div className="across">
        <table className="stacks">
          <thead>
            <tr>
              <th>Team</th>
              <th className="number">GPU hours</th>
              <th className="number">Borrowed</th>
              {isPriced && (
                <th className="number" title="GPU hours times the price of their pool">
                  Cost
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {teams.map(([path, team]) => (
              <tr key={path}>
                <td>{path}</td>
                <td className="number" data-label="GPU hours">
                  {hours(team.used_gpu_s)}
                </td>
                <td className="number" data-label="Borrowed">
                  {hours(team.borrowed_gpu_s)}
                </td>
                {isPriced && (
                  <td className="number" data-label="Cost">
                    {money(sum(team.cost ?? []))}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {isPriced && <p className="soft small">Cost is GPU hours times the price of the pool that they were used in.</p>}
    </>
  );
}

function hours(sums: number[]): string {
  const all = sum(sums) / HOUR_S;
  return all > 0 && all < 0.05 ? "< 0.1" : all.toFixed(1);
}

function sum(numbers: number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
