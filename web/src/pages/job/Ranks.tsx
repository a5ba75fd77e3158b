import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { queries } from "../../api/queries";
import { Choice } from "../../parts/Choice";
import { seconds } from "../../words/amounts";
import { median, paceOf, type RankPace, slowestFirst } from "./paces";

const SHOWN = 64;
const ORDERS = ["by rank", "slowest first"] as const;

/** How fast each rank is. Those that stay slower than their peers are marked. */
export function Ranks({ job }: { job: string }) {
  const ranks = useQuery(queries.ranks(job)).data ?? [];
  const [chosen, setOrder] = useState<(typeof ORDERS)[number]>();
  if (ranks.length === 0) {
    return null;
  }
  // Those that are slow must not be among those that are not shown.
  const order = chosen ?? (ranks.length > SHOWN ? "slowest first" : "by rank");
  const shown = (order === "by rank" ? ranks : slowestFirst(ranks)).slice(0, SHOWN);
  const paces = ranks.map(paceOf).filter((pace) => pace !== null);
  const most = Math.max(...paces, 0);
  const middle = median(paces);
  return (
    <section className="sheet" aria-label="Ranks">
      <div className="row">
        <h2>Step time by rank</h2>
        {ranks.length > 1 && <Choice label="Order of ranks" value={order} options={ORDERS} onChoose={setOrder} />}
        <span className="soft small">
          {ranks.some((rank) => rank.busy_s !== null) ? "the time in which a rank is busy itself" : "the time from step to step"}
          {middle !== null && <>, median {seconds(middle)}</>}
        </span>
      </div>
      <ul className="ranks">
        {shown.map((rank) => (
          <Rank key={rank.rank} rank={rank} most={most} />
        ))}
      </ul>
      {ranks.length > shown.length && <p className="soft small">and {ranks.length - shown.length} more</p>}
    </section>
  );
}

function Rank({ rank, most }: { rank: RankPace; most: number }) {
  const pace = paceOf(rank);
  return (
    <li className={rank.slowdown === null ? "" : "slow"}>
      <span className="name">
        {rank.rank} <span className="soft small">{rank.node}</span>
      </span>
      <span className="bar">
        <div style={{ width: `${pace === null || most === 0 ? 0 : (100 * pace) / most}%` }} />
      </span>
      <span className="small">
        {pace === null ? "–" : seconds(pace)}
        {rank.slowdown !== null && <strong className="tone-bad"> {rank.slowdown.toFixed(2)}× its peers</strong>}
        {rank.saving && <span className="soft"> saving</span>}
        <span className="soft"> step {rank.step}</span>
      </span>
    </li>
  );
}
