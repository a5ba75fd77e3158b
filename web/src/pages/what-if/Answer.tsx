import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api } from "../../api/client";
import { Loaded } from "../../parts/Loaded";
import { Comparison } from "./Comparison";
import { isOver, type Run, whatIfQueries } from "./queries";

/** How far a simulation is, and what it found. */
export function Answer({ id }: { id: string }) {
  const run = useQuery(whatIfQueries.one(id));
  return (
    <section className="sheet" aria-label="Answer">
      <Loaded query={run}>{(found) => <Shown run={found} />}</Loaded>
    </section>
  );
}

function Shown({ run }: { run: Run }) {
  return (
    <>
      <div className="row">
        <h2>{run.id}</h2>
        <span className="soft">
          {run.jobs === 1 ? "1 job" : `${run.jobs.toLocaleString()} jobs`}, asked by {run.by}
        </span>
        {!isOver(run) && <Cancel run={run.id} />}
      </div>
      {!isOver(run) && (
        <p role="status">
          <progress max={1} value={run.state === "running" ? run.done : undefined} aria-label="Progress" />{" "}
          {run.state === "running" ? `${Math.round(100 * run.done)} %` : "waits for the simulations before it"}
        </p>
      )}
      {run.state === "cancelled" && <p className="soft">It was cancelled.</p>}
      {run.problem && (
        <p className="notice bad" role="alert">
          {run.problem}
        </p>
      )}
      {run.today && run.changed && <Comparison today={run.today} changed={run.changed} />}
      {run.state === "done" && <Report run={run.id} />}
    </>
  );
}

function Cancel({ run }: { run: string }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => api.DELETE("/v1/what-if/{run}", { params: { path: { run } } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["what-if"] }),
  });
  return (
    <button
      disabled={cancel.isPending}
      onClick={() => {
        cancel.mutate();
      }}
    >
      Cancel
    </button>
  );
}

/** The report in a frame of its own, whose scripts can reach neither this page nor the server. */
function Report({ run }: { run: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
      }}
    >
      <summary>The whole report</summary>
      {isOpen && <Frame run={run} />}
    </details>
  );
}

function Frame({ run }: { run: string }) {
  const link = useQuery(whatIfQueries.report(run));
  return (
    <Loaded query={link}>
      {(path) => (
        <iframe className="what-if-report" title={`Report of ${run}`} sandbox="allow-scripts" src={path} />
      )}
    </Loaded>
  );
}
