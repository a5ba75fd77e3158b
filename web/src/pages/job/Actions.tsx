import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, body, type Job } from "../../api/client";
import { queries } from "../../api/queries";
import { putInto } from "../../api/refresh";
import { Ask } from "../../parts/Ask";
import { Resubmit } from "./Resubmit";

const VERBS = {
  cancel: { name: "Cancel", path: "/v1/jobs/{job}/cancel" },
  hold: { name: "Hold", path: "/v1/jobs/{job}/hold" },
  release: { name: "Release", path: "/v1/jobs/{job}/release" },
} as const;

type Verb = keyof typeof VERBS;

/** What can be asked of a job now. Whether one may is the server's to say. */
export function Actions({ job }: { job: Job }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const act = useMutation({
    mutationFn: async (verb: Verb) =>
      body(await api.POST(VERBS[verb].path, { params: { path: { job: job.id } }, body: { reason: "" } })),
    onSuccess: (changed) => {
      putInto(client, [changed]);
    },
    onSettled: () => client.invalidateQueries({ queryKey: queries.job(job.id).queryKey }),
  });
  if (job.ended !== null) {
    return <Resubmit job={job.id} />;
  }
  const verbs: Verb[] = job.held ? ["release", "cancel"] : ["hold", "cancel"];
  return (
    <span className="row actions">
      {verbs.map((verb) => (
        <button
          key={verb}
          className={verb === "cancel" ? "danger" : ""}
          disabled={act.isPending}
          onClick={() => {
            if (verb === "cancel") {
              setAsking(true);
            } else {
              act.mutate(verb);
            }
          }}
        >
          {VERBS[verb].name}
        </button>
      ))}
      {act.error && (
        <span className="tone-bad" role="alert">
          {act.error.message}
        </span>
      )}
      {isAsking && (
        <Ask
          isFinal
          title={`Cancel ${job.name}?`}
          verb="Cancel the job"
          onYes={() => {
            setAsking(false);
            act.mutate("cancel");
          }}
          onClose={() => {
            setAsking(false);
          }}
        >
          <p>{job.workers.length > 0 ? "It is stopped, and what it has not saved is lost." : "It does not run yet, and never will."}</p>
        </Ask>
      )}
    </span>
  );
}
