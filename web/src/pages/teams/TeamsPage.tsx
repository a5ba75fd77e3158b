import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Team } from "../../api/client";
import { queries } from "../../api/queries";
import { Bar, Empty, Loaded } from "../../parts/Loaded";
import { amounts, covered } from "./amounts";
import { FairShare } from "./FairShare";
import "./teams.css";
import { Usage } from "./Usage";

export function TeamsPage(): ReactNode {
  const teams = useQuery(queries.teams());
  return (
    <>
      <h1>Teams</h1>
      <Loaded query={teams}>
        {(found) =>
          found.length === 0 ? (
            <Empty>No team has a quota or a job. Every team may use what is free.</Empty>
          ) : (
            <>
              <QuotaTree teams={found} />
              <FairShare teams={found} />
            </>
          )
        }
      </Loaded>
      <Usage />
    </>
  );
}

/** What each team is guaranteed and what it uses, with the teams below it. */
function QuotaTree({ teams }: { teams: Team[] }) {
  return (
    <section className="sheet">
      <h2>Quotas</h2>
      <div className="across">
        <table className="stacks">
          <thead>
            <tr>
              <th>Team</th>
              <th>Used</th>
              <th>Guaranteed</th>
              <th title="Used above its guarantee">Borrowed</th>
              <th title="What others use of its guarantee. The team gets it back when it wants it">Lent</th>
              <th>Limit</th>
              <th className="number">Running</th>
              <th className="number">Waiting</th>
            </tr>
          </thead>
          <tbody>
            {teams.map((team) => (
              <TeamRow key={team.path} team={team} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function TeamRow({ team }: { team: Team }) {
  const parts = team.path.split("/");
  const guarantee = covered(team);
  return (
    <tr data-testid="team-row" data-team={team.path}>
      <td>
        <span style={{ paddingLeft: (parts.length - 1) * 18 }}>
          <Link to="/jobs" search={{ team: team.path }} title={team.path}>
            {parts.at(-1)}
          </Link>
        </span>
        {team.warnings.map((warning) => (
          <p key={warning} className="tone-warn small warning">
            {warning}
          </p>
        ))}
      </td>
      <td className="used wide" data-label="Used">
        <div>
          {Object.keys(team.used).length > 0 ? amounts(team.used) : "0"}
          {guarantee.whole > 0 && <Bar {...guarantee} label={`used of what ${team.path} is guaranteed`} />}
        </div>
      </td>
      <td data-label="Guaranteed">{amounts(team.guaranteed)}</td>
      <td className={Object.keys(team.borrowed).length > 0 ? "tone-wait" : ""} data-label="Borrowed">
        {amounts(team.borrowed)}
      </td>
      <td data-label="Lent">{amounts(team.lent)}</td>
      <td data-label="Limit">{Object.keys(team.limit).length > 0 ? amounts(team.limit) : <span className="soft">none</span>}</td>
      <td className="number" data-label="Running">
        {team.running}
      </td>
      <td className="number" data-label="Waiting">
        {team.waiting}
      </td>
    </tr>
  );
}
