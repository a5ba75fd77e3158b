import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** What is shown instead of a page that could not be drawn. */
export function Broken({ error }: { error: unknown }): ReactNode {
  return (
    <div className="alone sheet">
      <h1>This page could not be shown</h1>
      <p className="notice bad" role="alert">
        {error instanceof Error ? error.message : String(error)}
      </p>
      <p>
        <button
          onClick={() => {
            location.reload();
          }}
        >
          Load it again
        </button>{" "}
        or <Link to="/">go to the overview</Link>. The cluster goes on in any case.
      </p>
    </div>
  );
}
