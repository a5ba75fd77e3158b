import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { api, body, type Job, type Schema } from "../../api/client";
import { queries } from "../../api/queries";
import { Time } from "../../parts/Time";
import { bytes } from "../../words/amounts";

type Checkpoint = Schema["Checkpoint"];

/** What the job has saved, the newest first, and whether it is intact. */
export function Checkpoints({ job }: { job: Job }) {
  const client = useQueryClient();
  const found = useQuery(queries.checkpoints(job.id)).data ?? [];
  const verify = useMutation({
    mutationFn: async (step: number | null) =>
      body(await api.POST("/v1/jobs/{job}/checkpoints/verify", { params: { path: { job: job.id } }, body: { step } })).items,
    onSuccess: (verified) => {
      const byStep = new Map(verified.map((each) => [each.step, each]));
      client.setQueryData<Checkpoint[]>(queries.checkpoints(job.id).queryKey, (before) =>
        before?.map((each) => byStep.get(each.step) ?? each),
      );
    },
  });
  if (found.length === 0) {
    return null;
  }
  return (
    <section className="sheet" aria-label="Checkpoints">
      <div className="row">
        <h2>Checkpoints</h2>
        <button
          disabled={verify.isPending}
          onClick={() => {
            verify.mutate(null);
          }}
        >
          {verify.isPending ? "Reading all files…" : "Verify all"}
        </button>
        {job.saves && <span className="soft small">{job.saves.because}</span>}
        {verify.error && (
          <span className="tone-bad" role="alert">
            {verify.error.message}
          </span>
        )}
      </div>
      <div className="sideways">
        <table>
          <thead>
            <tr>
              <th>Step</th>
              <th>Saved</th>
              <th className="number">Size</th>
              <th className="number">Ranks</th>
              <th>Where</th>
              <th>Condition</th>
              <th aria-label="Verify" />
            </tr>
          </thead>
          <tbody>
            {found.toReversed().map((each) => (
              <tr key={each.step}>
                <td>{each.step}</td>
                <td>
                  <Time at={each.at} />
                </td>
                <td className="number">{bytes(each.bytes)}</td>
                <td className="number">{each.ranks}</td>
                <td>{each.where.join(", ")}</td>
                <td>
                  <Condition checkpoint={each} />
                </td>
                <td>
                  <button
                    disabled={verify.isPending}
                    onClick={() => {
                      verify.mutate(each.step);
                    }}
                  >
                    Verify
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Condition({ checkpoint }: { checkpoint: Checkpoint }) {
  if (checkpoint.problem !== null || checkpoint.verified === false) {
    return <span className="tone-bad">{checkpoint.problem ?? "damaged"}</span>;
  }
  if (!checkpoint.complete) {
    return <span className="tone-wait">not complete yet</span>;
  }
  return <span className={checkpoint.verified ? "tone-good" : ""}>{checkpoint.verified ? "verified" : "complete"}</span>;
}
