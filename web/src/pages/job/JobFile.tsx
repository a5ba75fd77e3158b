import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import { Loaded } from "../../parts/Loaded";
import { Resubmit } from "./Resubmit";

/** The job file, to look at, to copy, and to submit again with changes. */
export function JobFile({ job }: { job: Job }) {
  const file = useQuery(queries.file(job.id));
  const [isCopied, setCopied] = useState(false);
  return (
    <section className="sheet" aria-label="Job file">
      <div className="row">
        <h2>Job file</h2>
        <a className="button" href={`/submit?from=${encodeURIComponent(job.id)}`}>
          Clone
        </a>
        {job.ended !== null && <Resubmit job={job.id} />}
        <button
          disabled={file.data === undefined}
          onClick={() => {
            void navigator.clipboard.writeText(file.data ?? "").then(() => {
              setCopied(true);
            });
          }}
        >
          {isCopied ? "Copied" : "Copy"}
        </button>
        <span className="soft small">as Muster has read it, without what has its default</span>
      </div>
      <Loaded query={file}>
        {(text) => (
          <pre className="log" tabIndex={0}>
            {text}
          </pre>
        )}
      </Loaded>
    </section>
  );
}
