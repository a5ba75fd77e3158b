import { lazy, Suspense, useState } from "react";

import type { Job } from "../../api/client";

const Screen = lazy(() => import("./terminal/Screen"));

/** The terminal of an interactive job, or a shell beside a worker of any other that runs. Loaded when it is wanted. */
export function Terminal({ job }: { job: Job }) {
  const [isOpen, setOpen] = useState(false);
  const isInteractive = job.spec["interactive"] !== undefined;
  return (
    <section className="sheet" aria-label="Terminal">
      <div className="row">
        <h2>Terminal</h2>
        <button
          onClick={() => {
            setOpen(!isOpen);
          }}
        >
          {isOpen ? "Close" : "Open"}
        </button>
        <span className="soft small">
          {isInteractive
            ? "of the job itself; it goes on without you"
            : "a shell beside the first worker, with its environment and devices; it is written into the audit"}
        </span>
      </div>
      {isOpen && (
        <Suspense fallback={<p className="soft">Loading…</p>}>
          <Screen job={job.id} isInteractive={isInteractive} />
        </Suspense>
      )}
    </section>
  );
}
