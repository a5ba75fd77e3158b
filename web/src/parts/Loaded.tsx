import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

/** What a query found, or that it is on its way, or what went wrong and what to do. */
export function Loaded<T>({ query, children }: { query: UseQueryResult<T>; children: (data: T) => ReactNode }) {
  if (query.data !== undefined) {
    return <>{children(query.data)}</>;
  }
  if (query.error) {
    return (
      <div className="notice bad" role="alert">
        <p>{query.error.message}</p>
        <button onClick={() => void query.refetch()}>Try again</button>
      </div>
    );
  }
  return <p className="soft">Loading…</p>;
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty">{children}</p>;
}

export function Bar({ part, whole, label }: { part: number; whole: number; label: string }) {
  const width = whole > 0 ? Math.min(100, (100 * part) / whole) : 0;
  return (
    <div className="bar" role="meter" aria-label={label} aria-valuenow={part} aria-valuemin={0} aria-valuemax={whole}>
      <div style={{ width: `${width}%` }} />
    </div>
  );
}
