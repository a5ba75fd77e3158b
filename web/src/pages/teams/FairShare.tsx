import { useQuery } from "@tanstack/react-query";

import type { Team } from "../../api/client";
import { clusterQueries } from "../../api/clusterQueries";
import { gpus } from "../../words/amounts";
import { places, rivals } from "./amounts";

/** Who goes first and why: the arithmetic of fair share, for teams that compete with each other. */
export function FairShare({ teams }: { teams: Team[] }) {
  const policy = useQuery(clusterQueries.policy()).data;
  const groups = rivals(teams);
  if (groups.length === 0 || policy?.fair_share === false || policy?.order === "fifo") {
    return null;
  }
  return (
    <section className="sheet fair-share">
      <h2>Fair share</h2>
      <p className="soft">
        Inside a tier, the job of a team that stays inside its guarantee goes first, then that of the team with the lowest
        share: the GPUs that it used on average, old use counting less
        {policy && ` (half as much after ${policy.half_life})`}, and those that it uses now, over its weight. What a job uses is remembered once it
        gives its GPUs back.
      </p>
      {groups.map((group) => (
        <div key={group.above} className="across">
          {group.above !== "" && <h3>Inside {group.above}</h3>}
          <table className="stacks">
            <thead>
              <tr>
                <th className="number">Goes</th>
                <th>Team</th>
                <th className="number">Used on average</th>
                <th className="sign" aria-hidden="true" />
                <th className="number">Uses now</th>
                <th className="sign" aria-hidden="true" />
                <th className="number">Weight</th>
                <th className="sign" aria-hidden="true" />
                <th className="number">Share</th>
                <th className="remembered">Remembered use</th>
              </tr>
            </thead>
            <tbody>
              {group.teams.map((team, place) => (
                <tr key={team.path}>
                  <td className="number" data-label="Goes">
                    {places(group.teams)[place]}.
                  </td>
                  <td className="wide" data-label="Team">{team.path}</td>
                  <td className="number" data-label="Used on average">
                    <span className="soft wide-only">(</span>
                    {gpus(team.average_gpus)}
                  </td>
                  <td className="sign">+</td>
                  <td className="number" data-label="Uses now">
                    {gpus(team.used["*"] ?? 0)}
                    <span className="soft wide-only">)</span>
                  </td>
                  <td className="sign">÷</td>
                  <td className="number" data-label="Weight">
                    {team.weight}
                  </td>
                  <td className="sign">=</td>
                  <td className="number" data-label="Share">
                    <b>{gpus(team.share)}</b>
                  </td>
                  <td className="soft wide" data-label="Remembered use">{gpus(team.usage_gpu_s / 3600)} GPU hours</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ))}
    </section>
  );
}
