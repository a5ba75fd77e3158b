import { useSearch } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";

// The editor and what reads YAML are larger than all other pages together, so they come when they are needed.
const NewJob = lazy(() => import("./NewJob"));

export type SubmitSearch = { from?: string | undefined };

/** A new job, or one like another. */
export function SubmitPage(): ReactNode {
  const { from }: SubmitSearch = useSearch({ strict: false });
  return (
    <>
      <h1>{from === undefined ? "Submit" : `Submit a job like ${from}`}</h1>
      <Suspense fallback={<p className="soft">Loading…</p>}>
        <NewJob key={from} from={from} />
      </Suspense>
    </>
  );
}
