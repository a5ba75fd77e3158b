import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { Loaded } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import { Answer } from "./Answer";
import { Ask } from "./Ask";
import { type Run, whatIfQueries } from "./queries";
import "./what-if.css";

export type WhatIfSearch = { run?: string | undefined };

/** Another policy, quota or cluster, tried on the jobs of the past or of now. Nothing is changed by it. */
export function WhatIfPage(): ReactNode {
  const { run }: WhatIfSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const all = useQuery(whatIfQueries.all());
  const show = (id: string) => {
    void navigate({ to: "/what-if", search: { run: id } });
  };
  return (
    <>
      <h1>What-if</h1>
      <Loaded query={all}>
        {({ runs, policies }) => (
          <div className="what-if">
            <div className="what-if-side">
              <Ask policies={policies} onStarted={show} />
              {runs.length > 0 && <Earlier runs={runs} shown={run} onShow={show} />}
            </div>
            {run === undefined ? (
              <p className="empty sheet">
                The simulation replays the same jobs twice: as everything is today, and with what you change here. Change something
                and press Simulate; nothing happens to the cluster.
              </p>
            ) : (
              <Answer key={run} id={run} />
            )}
          </div>
        )}
      </Loaded>
    </>
  );
}

type EarlierOf = { runs: readonly Run[]; shown: string | undefined; onShow: (run: string) => void };

function Earlier({ runs, shown, onShow }: EarlierOf) {
  return (
    <section className="sheet" aria-label="Simulations">
      <h2>Simulations</h2>
      <ul className="what-if-runs">
        {runs.map((run) => (
          <li key={run.id}>
            <button
              className="plain"
              aria-current={run.id === shown}
              onClick={() => {
                onShow(run.id);
              }}
            >
              {run.id}
            </button>{" "}
            <span className="soft small">
              {run.state}, <Time at={run.made} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
