import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import type { Job } from "../../api/client";
import { queries } from "../../api/queries";
import { endedFilters, type JobFilters, showsEnded } from "./filters";

/** Parts of the list of ended jobs that are loaded while one scrolls; for more, one has to ask. */
const PARTS = 20;

export type JobList = {
  jobs: Job[] | undefined;
  error: Error | null;
  retry: () => void;
  /** Whether there are older jobs that were not loaded. */
  hasOlder: boolean;
  isLoading: boolean;
  /** Load older jobs; `isAsked` says that the reader asked for it. */
  loadOlder: (isAsked?: boolean) => void;
};

/** Active jobs are all loaded. Ended ones come part by part, as there may be millions. */
export function useJobList(filters: JobFilters): JobList {
  const isEnded = showsEnded(filters);
  const active = useQuery({ ...queries.jobs("active"), enabled: !isEnded });
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
  const query = isEnded ? ended : active;
  return {
    jobs: isEnded ? found : active.data,
    error: query.error,
    retry: () => void query.refetch(),
    hasOlder: isEnded && hasNextPage,
    isLoading: isFetchingNextPage,
    loadOlder,
  };
}
