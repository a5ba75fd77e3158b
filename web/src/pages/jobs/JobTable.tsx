import { useNavigate } from "@tanstack/react-router";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

import { useKeys } from "../../app/keys";
import { useRowsInSight } from "../../parts/rowsInSight";
import type { Column } from "./columns";
import { classOf, JobRow } from "./JobRow";
import type { Row } from "./rows";
import type { Selection } from "./selection";

const ROW_PX = 36;
const AHEAD = 12;
const PICK_PX = 34;
/** So many rows before the end the next part of the list is asked for. */
const NEAR_END = 50;

type Shown = {
  rows: Row[];
  columns: readonly Column[];
  sort: string | undefined;
  selection: Selection;
  unfolded: ReadonlySet<string>;
  onSort: (sort: string | undefined) => void;
  onChoose: (id: string, isRange: boolean) => void;
  onChooseAll: () => void;
  onUnfold: (id: string) => void;
  onHold: (reason: string) => void;
  onGiveUp: (reason: string) => void;
  onNearEnd: () => void;
};

/** Only the rows in sight are in the document, however many there are. */
export function JobTable(props: Shown) {
  const { rows, columns, selection, onChoose, onHold, onGiveUp, onNearEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [current, setCurrent] = useState<string | null>(null);
  const shown = useRowsInSight(scroller, { count: rows.length, heightOf: () => ROW_PX, ahead: AHEAD });
  const isNearEnd = shown.end > rows.length - NEAR_END;
  useEffect(() => {
    if (isNearEnd) {
      onNearEnd();
    }
  }, [isNearEnd, rows.length, onNearEnd]);
  useMoves({ rows, current, setCurrent, scroller, onChoose });
  return (
    <div
      className="scroller sheet jobs"
      ref={scroller}
      onPointerEnter={() => {
        onHold("pointer");
      }}
      onPointerLeave={() => {
        onGiveUp("pointer");
      }}
      onScroll={(event) => {
        (event.currentTarget.scrollTop > 0 ? onHold : onGiveUp)("scrolled");
      }}
    >
      <table aria-rowcount={rows.length + 1} style={{ minWidth: widthOf(columns) }}>
        <colgroup>
          <col style={{ width: PICK_PX }} />
          {columns.map((column, place) => (
            <col key={column.id} className={classOf(column)} style={place === 0 ? {} : { width: column.px }} />
          ))}
        </colgroup>
        <Head {...props} />
        <tbody>
          <Gap px={shown.abovePx} />
          {rows.slice(shown.first, shown.end).map((row, place) => (
            <JobRow
              key={row.id}
              row={row}
              columns={columns}
              index={shown.first + place}
              isChosen={selection.chosen.has(row.id)}
              isCurrent={row.id === current}
              isUnfolded={props.unfolded.has(row.id)}
              onChoose={onChoose}
              onUnfold={props.onUnfold}
            />
          ))}
          <Gap px={shown.belowPx} />
        </tbody>
      </table>
    </div>
  );
}

/** Columns keep their widths, and scroll sideways when there is no room. On a phone few are shown, and fit. */
function widthOf(columns: readonly Column[]): string {
  return `var(--phone-width, ${columns.reduce((sum, column) => sum + column.px, PICK_PX)}px)`;
}

function Head({ rows, columns, sort, selection, onSort, onChooseAll }: Shown) {
  const jobs = rows.filter((row) => row.kind === "job");
  const chosen = jobs.filter((row) => selection.chosen.has(row.id)).length;
  const isAll = chosen > 0 && chosen === jobs.length;
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th className="pick">
          <input
            type="checkbox"
            aria-label="Choose all that are shown"
            checked={isAll}
            ref={(box) => {
              if (box !== null) {
                box.indeterminate = chosen > 0 && !isAll;
              }
            }}
            onChange={onChooseAll}
          />
        </th>
        {columns.map((column) => (
          <th key={column.id} aria-sort={sortOf(column, sort)} className={classOf(column)}>
            <button
              className="plain"
              onClick={() => {
                onSort(nextSort(column.id, sort));
              }}
            >
              {column.name}
              {sort === column.id ? " ↑" : sort === `-${column.id}` ? " ↓" : ""}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A column is sorted upwards, then downwards, then not at all. */
function nextSort(column: string, sort: string | undefined): string | undefined {
  return sort === column ? `-${column}` : sort === `-${column}` ? undefined : column;
}

function sortOf(column: Column, sort: string | undefined): "none" | "ascending" | "descending" {
  return sort === column.id ? "ascending" : sort === `-${column.id}` ? "descending" : "none";
}

type Movable = {
  rows: Row[];
  current: string | null;
  setCurrent: (id: string) => void;
  scroller: RefObject<HTMLDivElement | null>;
  onChoose: (id: string, isRange: boolean) => void;
};

function useMoves({ rows, current, setCurrent, scroller, onChoose }: Movable): void {
  const navigate = useNavigate();
  const move = useCallback(
    (by: number) => {
      const at = rows.findIndex((row) => row.id === current);
      const index = Math.min(Math.max(at + (at < 0 ? 1 : by), 0), rows.length - 1);
      const row = rows[index];
      if (row === undefined) {
        return;
      }
      setCurrent(row.id);
      bringIntoSight(scroller.current, index);
      // The row may have to be drawn first.
      requestAnimationFrame(() => {
        scroller.current?.querySelector<HTMLElement>(`tr[data-job="${CSS.escape(row.id)}"]`)?.focus({ preventScroll: true });
      });
    },
    [rows, current, setCurrent, scroller],
  );
  const choose = useCallback(() => {
    if (current !== null) {
      onChoose(current, false);
    }
  }, [current, onChoose]);
  const open = useCallback(() => {
    if (current !== null) {
      void navigate({ to: "/jobs/$job", params: { job: current } });
    }
  }, [current, navigate]);
  useKeys([
    { press: "j", does: "the next job", act: () => { move(1); } },
    { press: "k", does: "the job before", act: () => { move(-1); } },
    { press: "x", does: "choose the job", act: choose },
    { press: "Enter", does: "open the job", act: open },
  ]);
}

/** Scroll as far as it takes to see the row, below the head of the table, which stays where it is. */
function bringIntoSight(box: HTMLElement | null, index: number): void {
  if (box !== null) {
    const head = box.querySelector("thead")?.offsetHeight ?? 0;
    const [highest, lowest] = [index * ROW_PX, head + (index + 1) * ROW_PX - box.clientHeight];
    box.scrollTo(box.scrollLeft, Math.max(lowest, Math.min(box.scrollTop, highest)));
  }
}

function Gap({ px }: { px: number }) {
  return px > 0 ? <tr aria-hidden style={{ height: px }} /> : null;
}
