import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, type Job } from "../../api/client";
import { putInto } from "../../api/refresh";
import { forEach, summary } from "../../api/several";
import { Ask } from "../../parts/Ask";
import { heldInWords } from "../../words/holding";

const VERBS = {
  cancel: { name: "Cancel", done: "cancelled", path: "/v1/jobs/{job}/cancel" },
  hold: { name: "Hold", done: "held", path: "/v1/jobs/{job}/hold" },
  release: { name: "Release", done: "released", path: "/v1/jobs/{job}/release" },
} as const;

type Verb = keyof typeof VERBS;

/** What can be done to all jobs that are chosen. Whether one may is the server's to say, job by job. */
export function BulkActions({ chosen, onDone }: { chosen: string[]; onDone: () => void }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const act = useMutation({
    mutationFn: async (verb: Verb) => {
      const changed: Job[] = [];
      const outcomes = await forEach(chosen, async (job) => {
        const { data } = await api.POST(VERBS[verb].path, { params: { path: { job } }, body: { reason: "" } });
        if (data !== undefined) {
          changed.push(data);
          putInto(client, [data]);
        }
      });
      const said = summary(VERBS[verb].done, outcomes);
      return verb === "hold" ? heldInWords(said, changed) : said;
    },
    onSuccess: onDone,
  });
  return (
    <div className="row bulk">
      {(Object.keys(VERBS) as Verb[]).map((verb) => (
        <button
          key={verb}
          className={verb === "cancel" ? "danger" : ""}
          disabled={chosen.length === 0 || act.isPending}
          onClick={() => {
            if (verb === "cancel") {
              setAsking(true);
            } else {
              act.mutate(verb);
            }
          }}
        >
          {VERBS[verb].name}
          {chosen.length > 0 && ` ${chosen.length}`}
        </button>
      ))}
      <span className="soft" role="status">
        {act.isPending ? "asking…" : (act.data ?? "")}
      </span>
      {isAsking && (
        <Ask
          isFinal
          title={chosen.length === 1 ? "Cancel this job?" : `Cancel ${chosen.length} jobs?`}
          verb={chosen.length === 1 ? "Cancel the job" : "Cancel the jobs"}
          onYes={() => {
            setAsking(false);
            act.mutate("cancel");
          }}
          onClose={() => {
            setAsking(false);
          }}
        >
          <p>
            What runs is stopped, and what was not saved is lost: {chosen.slice(0, TOLD).join(", ")}
            {chosen.length > TOLD && ` and ${chosen.length - TOLD} more`}.
          </p>
        </Ask>
      )}
    </div>
  );
}

const TOLD = 8;
