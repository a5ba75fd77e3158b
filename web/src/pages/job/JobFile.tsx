import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import { Loaded } from "../../parts/Loaded";
import { Near } from "../../parts/Near";
import { unturned } from "../../words/direction";
import { Resubmit } from "./Resubmit";

/** The job file, to look at, to copy, and to submit again with changes. */
export function JobFile({ job }: { job: Job }) {
  const client = useQueryClient();
  const [isCopied, setCopied] = useState(false);
  return (
    <section className="sheet" aria-label="Job file">
      <div className="row">
        <h2>Job file</h2>
        <a className="button" href={`/submit?from=${encodeURIComponent(job.id)}`}>
          Clone
        </a>
        {job.ended !== null && <Resubmit job={job.id} />}
        {/* Browsers give the clipboard to pages that came over TLS or from this machine. */}
        {isSecureContext && (
          <button
            onClick={() => {
              void client
                .query({ ...queries.file(job.id), staleTime: "static" })
                .then((text) => navigator.clipboard.writeText(text))
                .then(() => {
                  setCopied(true);
                });
            }}
          >
            {isCopied ? "Copied" : "Copy"}
          </button>
        )}
        <span className="soft small">as Muster has read it, without settings that have their defaults</span>
      </div>
      <Near heightPx={200}>
        <Text job={job.id} />
      </Near>
    </section>
  );
}

function Text({ job }: { job: string }) {
  const file = useQuery(queries.file(job));
  return (
    <Loaded query={file}>
      {(text) => (
        <pre className="log" tabIndex={0}>
          {unturned(text)}
        </pre>
      )}
    </Loaded>
  );
}
