import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import { endedFilters, type JobFilters, showsEnded } from "./filters";

/** Parts of the list of ended jobs that are loaded while one scrolls; for more, one has to ask. */
const PARTS = 20;

export type JobList = {
  jobs: Job[] | undefined;
  /** Whether the rest of the active jobs is still on its way. */
  isPartial: boolean;
  error: Error | null;
  retry: () => void;
  /** Whether there are older jobs that were not loaded. */
  hasOlder: boolean;
  isLoading: boolean;
  /** Load older jobs; `isAsked` says that the reader asked for it. */
  loadOlder: (isAsked?: boolean) => void;
};

/** All active jobs; until they are there, the newest of them. */
function useActiveJobs(isWanted: boolean) {
  const hasAll = useQueryClient().getQueryData(queries.jobs("active").queryKey) !== undefined;
  const newest = useQuery({ ...queries.newestJobs(), enabled: isWanted && !hasAll });
  const all = useQuery({ ...queries.jobs("active"), enabled: isWanted && (hasAll || newest.isFetched) });
  const shown = all.data ?? (all.error ? undefined : newest.data?.items);
  return { query: all, jobs: shown, isPartial: all.data === undefined && newest.data?.next !== null };
}

/** Active jobs are all loaded, the newest before the rest. Ended ones come part by part, as there may be millions. */
export function useJobList(filters: JobFilters): JobList {
  const isEnded = showsEnded(filters);
  const active = useActiveJobs(!isEnded);
  const ended = useInfiniteQuery({ ...queries.ended(endedFilters(filters)), enabled: isEnded });
  const found = useMemo(() => ended.data?.pages.flatMap((page) => page.items), [ended.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = ended;
  const parts = ended.data?.pages.length ?? 0;
  const loadOlder = useCallback(
    (isAsked = false) => {
      if (isEnded && hasNextPage && !isFetchingNextPage && (isAsked || parts < PARTS)) {
        void fetchNextPage();
      }
    },
    [isEnded, hasNextPage, isFetchingNextPage, fetchNextPage, parts],
  );
  const query = isEnded ? ended : active.query;
  return {
    jobs: isEnded ? found : active.jobs,
    isPartial: !isEnded && active.isPartial,
    error: query.error,
    retry: () => void query.refetch(),
    hasOlder: isEnded && hasNextPage,
    isLoading: isFetchingNextPage,
    loadOlder,
  };
}
