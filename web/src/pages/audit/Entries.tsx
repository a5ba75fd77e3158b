import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import type { Schema } from "../../api/client";
import { Empty } from "../../parts/Loaded";
import { Time } from "../../parts/Time";
import type { AuditFilters } from "./filters";
import { auditQueries } from "./queries";

type Entry = Schema["AuditEntry"];

/** The entries, the newest first. The next page comes when the end is near. */
export function Entries({ filters }: { filters: AuditFilters }) {
  const found = useInfiniteQuery(auditQueries.entries(filters));
  const entries = found.data?.pages.flatMap((page) => page.items) ?? [];
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = found;
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (end.current === null || !hasNextPage || isFetchingNextPage) {
      return;
    }
    const watcher = new IntersectionObserver(
      ([seen]) => {
        if (seen?.isIntersecting === true) {
          void fetchNextPage();
        }
      },
      { rootMargin: "600px" },
    );
    watcher.observe(end.current);
    return () => {
      watcher.disconnect();
    };
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, entries.length]);
  if (found.error) {
    return (
      <div className="notice bad" role="alert">
        <p>{found.error.message}</p>
        <button onClick={() => void found.refetch()}>Try again</button>
      </div>
    );
  }
  if (found.isPending) {
    return <p className="soft">Loading…</p>;
  }
  return (
    <section className="sheet" aria-label="Entries">
      {entries.length === 0 ? <Empty>No entry is like that.</Empty> : <EntryTable entries={entries} />}
      <div ref={end} className="audit-end" />
      {isFetchingNextPage && <p className="soft">Loading more…</p>}
    </section>
  );
}

function EntryTable({ entries }: { entries: Entry[] }) {
  return (
    <table className="audit-entries stacks">
      <thead>
        <tr>
          <th className="number">Number</th>
          <th>When</th>
          <th>Who</th>
          <th>Did</th>
          <th>To</th>
          <th>Details</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.seq} data-testid="audit-row" data-seq={entry.seq}>
            <td className="number soft" data-label="Number">
              {entry.seq}
            </td>
            <td className="when" data-label="When">
              <Time at={entry.at} />
            </td>
            <td data-label="Who">{entry.by}</td>
            <td data-label="Did">{entry.action}</td>
            <td className="wide" data-label="To">{entry.subject}</td>
            <td className="details" data-label="Details">
              <Details entry={entry} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Details({ entry }: { entry: Entry }) {
  const { outcome, ...more } = entry.detail;
  return (
    <span>
      {outcome === "denied" && <span className="tone-bad">denied </span>}
      {entry.reason && <span>{entry.reason} </span>}
      <span className="soft small">
        {Object.entries(more)
          .map(([name, value]) => `${name} ${value}`)
          .join(", ")}
      </span>
    </span>
  );
}
