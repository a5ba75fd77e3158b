import { Link } from "@tanstack/react-router";
import { memo, type MouseEvent } from "react";

import type { Job } from "../../api/client";
import type { Column } from "./columns";
import type { Row } from "./rows";

type Shown = {
  row: Row;
  columns: readonly Column[];
  index: number;
  isChosen: boolean;
  isCurrent: boolean;
  isUnfolded: boolean;
  onChoose: (id: string, isRange: boolean) => void;
  onUnfold: (id: string) => void;
};

/** One row. It is drawn again only when something in it has changed. */
export const JobRow = memo(function JobRow({ row, columns, index, isChosen, isCurrent, isUnfolded, onChoose, onUnfold }: Shown) {
  if (row.kind === "note") {
    return (
      <tr aria-rowindex={index + 2} className="note">
        <td />
        <td colSpan={columns.length}>
          <Link to="/jobs/$job" params={{ job: row.array }}>
            {row.text}
          </Link>
        </td>
      </tr>
    );
  }
  const { job } = row;
  return (
    <tr
      data-testid="job-row"
      data-job={job.id}
      aria-rowindex={index + 2}
      className={`${isCurrent ? "current" : ""} ${row.isTask ? "task" : ""} ${job.ended === null ? "" : "ended"}`}
      tabIndex={isCurrent ? 0 : -1}
    >
      <td className="pick">
        <input
          type="checkbox"
          aria-label={`Choose ${job.id}`}
          checked={isChosen}
          readOnly
          onClick={(event: MouseEvent) => {
            onChoose(job.id, event.shiftKey);
          }}
        />
      </td>
      {columns.map((column) => (
        <td key={column.id} className={classOf(column)}>
          {column.id === "name" && job.tasks !== null && <Fold job={job} isUnfolded={isUnfolded} onUnfold={onUnfold} />}
          {column.cell ? column.cell(job) : (column.value(job) ?? "–")}
        </td>
      ))}
    </tr>
  );
});

export function classOf(column: Column): string {
  return `${column.isNumber ? "number" : ""} ${column.isNarrow ? "" : "wide-only"}`;
}

function Fold({ job, isUnfolded, onUnfold }: { job: Job; isUnfolded: boolean; onUnfold: (id: string) => void }) {
  return (
    <button
      className="fold"
      aria-expanded={isUnfolded}
      aria-label={`Tasks of ${job.id}`}
      onClick={() => {
        onUnfold(job.id);
      }}
    >
      {isUnfolded ? "▾" : "▸"}
    </button>
  );
}
