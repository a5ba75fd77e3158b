import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback, useDeferredValue, useMemo, useState } from "react";

import type { Job } from "../../api/client";
import { queries, type TaskList } from "../../api/queries";
import { Empty } from "../../parts/Loaded";
import { BulkActions } from "./BulkActions";
import { ColumnChoice } from "./ColumnChoice";
import { COLUMNS, rememberColumns, rememberedColumns } from "./columns";
import { FilterBar } from "./FilterBar";
import { type JobFilters, matching, showsEnded, sorted } from "./filters";
import { JobTable } from "./JobTable";
import "./jobs.css";
import { type Row, rowsOf } from "./rows";
import { allOrNothing, extended, NOTHING, type Selection, toggled } from "./selection";
import { useSteady } from "./steady";
import { useJobList } from "./useJobList";

const NO_JOBS: Job[] = [];

/** All jobs that one may see. The filters are in the address, so that a view can be sent to somebody. */
export function JobsPage(): ReactNode {
  const filters: JobFilters = useSearch({ strict: false });
  const navigate = useNavigate();
  const list = useJobList(filters);
  const jobs = list.jobs ?? NO_JOBS;
  const justEnded = useQuery(queries.justEnded()).data ?? NO_JOBS;
  // What is typed or pressed is shown at once, and the ten thousand rows follow.
  const looked = useDeferredValue(filters);
  const wanted = useMemo(() => inOrder(matching(jobs, looked), looked.sort), [jobs, looked]);
  const steady = useSteady(wanted, justEnded, JSON.stringify(looked));
  const [columns, setColumns] = useState(rememberedColumns);
  const { rows, unfolded, unfold } = useRows(steady.rows);
  const [selection, setSelection] = useSelection(rows);
  const change = useCallback(
    (changed: JobFilters) => {
      // What is chosen can be gone back from. What is typed would be a step for every letter.
      void navigate({ to: "/jobs", search: { ...filters, ...changed }, replace: "text" in changed });
    },
    [navigate, filters],
  );
  const shown = useMemo(() => COLUMNS.filter((column) => columns.includes(column.id)), [columns]);
  return (
    <>
      <h1>Jobs</h1>
      <div className="row tools">
        <FilterBar jobs={jobs} filters={filters} onChange={change} />
        <ColumnChoice
          chosen={columns}
          onChoose={(chosen) => {
            setColumns(chosen);
            rememberColumns(chosen);
          }}
        />
      </div>
      <div className="row tools">
        {!showsEnded(filters) && <BulkActions chosen={selection.ids} onDone={selection.clear} />}
        <Counts shown={wanted.length} list={list} />
        <button className="newer" hidden={steady.waiting === 0} onClick={steady.settle}>
          {steady.waiting} changed: show
        </button>
      </div>
      {list.error !== null && list.jobs === undefined ? (
        <div className="notice bad" role="alert">
          <p>{list.error.message}</p>
          <button onClick={list.retry}>Try again</button>
        </div>
      ) : list.jobs === undefined || (rows.length === 0 && list.isPartial) ? (
        <p className="soft">Loading…</p>
      ) : rows.length === 0 ? (
        <Nothing filters={filters} hasAny={jobs.length > 0} />
      ) : (
        <JobTable
          rows={rows}
          columns={shown}
          sort={filters.sort}
          selection={selection.selection}
          unfolded={unfolded}
          onSort={(sort) => {
            change({ sort });
          }}
          onChoose={setSelection.choose}
          onChooseAll={setSelection.all}
          onUnfold={unfold}
          onHold={steady.hold}
          onGiveUp={steady.giveUp}
          onNearEnd={list.loadOlder}
        />
      )}
    </>
  );
}

function inOrder(jobs: Job[], sort: string | undefined): Job[] {
  const column = COLUMNS.find((each) => each.id === sort?.replace(/^-/, ""));
  return column === undefined ? jobs : sorted(jobs, column.value, sort?.startsWith("-") ?? false);
}

function useRows(jobs: Job[]) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const arrays = useMemo(() => [...unfolded], [unfolded]);
  const tasks = useQueries({ queries: arrays.map((array) => queries.tasks(array)), combine: answers });
  const rows = useMemo(
    () => rowsOf(jobs, new Map(arrays.map((array, place) => [array, tasks[place]]))),
    [jobs, arrays, tasks],
  );
  const unfold = useCallback((id: string) => {
    setUnfolded((before) => {
      const next = new Set(before);
      if (!next.delete(id)) {
        next.add(id);
      }
      return next;
    });
  }, []);
  return { rows, unfolded, unfold };
}

function answers(found: UseQueryResult<TaskList>[]): (TaskList | undefined)[] {
  return found.map((query) => query.data);
}

function useSelection(rows: Row[]) {
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const shown = useMemo(() => rows.filter((row) => row.kind === "job").map((row) => row.id), [rows]);
  const ids = useMemo(() => shown.filter((id) => selection.chosen.has(id)), [shown, selection]);
  const choose = useCallback(
    (id: string, isRange: boolean) => {
      setSelection((before) => (isRange ? extended(before, id, shown) : toggled(before, id)));
    },
    [shown],
  );
  const all = useCallback(() => {
    setSelection((before) => allOrNothing(before, shown));
  }, [shown]);
  const clear = useCallback(() => {
    setSelection(NOTHING);
  }, []);
  return [{ selection, ids, clear }, { choose, all }] as const;
}

function Counts({ shown, list }: { shown: number; list: ReturnType<typeof useJobList> }) {
  const all = list.jobs?.length ?? 0;
  return (
    <span className="soft" aria-live="off">
      {shown === all ? "" : `${shown} of `}
      {all === 1 ? "1 job" : `${all} jobs`}
      {list.isPartial && all > 0 && " so far, loading the rest…"}
      {list.hasOlder && (
        <>
          {" so far "}
          <button
            disabled={list.isLoading}
            onClick={() => {
              list.loadOlder(true);
            }}
          >
            {list.isLoading ? "Loading…" : "Older ones"}
          </button>
        </>
      )}
    </span>
  );
}

function Nothing({ filters, hasAny }: { filters: JobFilters; hasAny: boolean }) {
  const isNarrowed = hasAny || Object.values(filters).some(Boolean);
  return (
    <Empty>
      {isNarrowed ? (
        "No job is like that. Take a filter away to see more."
      ) : (
        <>
          No job runs or waits. <code>muster submit job.yaml</code> submits one, and so does <Link to="/submit">Submit</Link>.
        </>
      )}
    </Empty>
  );
}
