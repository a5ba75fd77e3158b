import { useMutation, useQuery } from "@tanstack/react-query";

import { api, body } from "../../api/client";
import { Loaded } from "../../parts/Loaded";
import { auditQueries } from "./queries";

/** Where the audit ends, and whether anything before it was changed. */
export function Chain() {
  const head = useQuery(auditQueries.head());
  const check = useMutation({ mutationFn: async () => body(await api.GET("/v1/audit/verify")) });
  return (
    <section className="sheet audit-head" aria-label="Chain">
      <div className="row">
        <h2>Chain</h2>
        <button
          disabled={check.isPending}
          onClick={() => {
            check.mutate();
          }}
        >
          {check.isPending ? "Checking…" : "Check that nothing was changed"}
        </button>
      </div>
      <Loaded query={head}>
        {(end) => (
          <p className="small soft">
            It ends with entry {end.seq}, <code>{end.chain}</code>. Keep this line elsewhere: with it,{" "}
            <code className="command">muster audit verify --against</code> tells later whether the audit was made anew.
          </p>
        )}
      </Loaded>
      {check.data?.whole === true && (
        <p className="tone-good" role="status" data-testid="verdict">
          Nothing was changed, dropped or put in between: {check.data.entries} entries and {check.data.events} events.
        </p>
      )}
      {check.data?.whole === false && (
        <div className="notice bad" role="alert" data-testid="verdict">
          <p>What is kept is not what was written.</p>
          <ul>
            {check.data.problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </div>
      )}
      {check.error && (
        <p className="tone-bad" role="alert">
          {check.error.message}
        </p>
      )}
    </section>
  );
}
