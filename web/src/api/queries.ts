/** What pages ask for. Each has one key. `refresh.ts` brings what is kept under it up to date. */

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { allPages, api, body, type Job, type JobState } from "./client";

export const queries = {
  me: () => queryOptions({ queryKey: ["me"], queryFn: async () => body(await api.GET("/v1/whoami")) }),
  queue: () => queryOptions({ queryKey: ["queue"], queryFn: async () => body(await api.GET("/v1/queue")) }),
  jobs: (which: "active") =>
    queryOptions({
      queryKey: ["jobs", which],
      queryFn: () =>
        allPages(async (cursor) =>
          body(await api.GET("/v1/jobs", { params: { query: { state: [which], brief: true, limit: 2500, cursor } } })),
        ),
      staleTime: Infinity,
      refetchInterval: 300_000,
      structuralSharing: false,
    }),
  /** The newest active jobs, to have something to show until all are there. */
  newestJobs: () =>
    queryOptions({
      queryKey: ["newest-jobs"],
      queryFn: async (): Promise<JobPage> =>
        body(await api.GET("/v1/jobs", { params: { query: { state: ["active"], brief: true, limit: NEWEST } } })),
      staleTime: Infinity,
      gcTime: 0,
    }),
  job: (job: string) =>
    queryOptions({
      queryKey: ["job", job],
      queryFn: async () => body(await api.GET("/v1/jobs/{job}", { params: { path: { job } } })),
    }),
  why: (job: string) =>
    queryOptions({
      queryKey: ["job", job, "why"],
      queryFn: async () => body(await api.GET("/v1/jobs/{job}/why", { params: { path: { job } } })),
      refetchInterval: 10_000,
    }),
  story: (job: string) =>
    queryOptions({
      queryKey: ["job", job, "story"],
      queryFn: async () => body(await api.GET("/v1/jobs/{job}/story", { params: { path: { job } } })),
    }),
  measures: (job: string) =>
    queryOptions({
      queryKey: ["measures", job],
      queryFn: async () => body(await api.GET("/v1/jobs/{job}/measures", { params: { path: { job } } })).items,
      refetchInterval: 5000,
    }),
  nodes: () =>
    queryOptions({
      queryKey: ["nodes"],
      queryFn: () =>
        allPages(async (cursor) =>
          body(await api.GET("/v1/nodes", { params: { query: { limit: 1000, cursor } } })),
        ),
    }),
  teams: () =>
    queryOptions({
      queryKey: ["teams"],
      queryFn: () =>
        allPages(async (cursor) =>
          body(await api.GET("/v1/teams", { params: { query: { limit: 1000, cursor } } })),
        ),
    }),
  ended: (filters: EndedFilters) =>
    infiniteQueryOptions({
      queryKey: ["ended", filters],
      initialPageParam: undefined as string | undefined,
      queryFn: async ({ pageParam: cursor }): Promise<JobPage> =>
        body(
          await api.GET("/v1/jobs", {
            params: {
              query: { ...filters, state: [filters.state ?? "ended"], brief: true, limit: ENDED_PAGE, cursor },
            },
          }),
        ),
      getNextPageParam: (page) => page.next ?? undefined,
      staleTime: Infinity,
      placeholderData: keepPreviousData,
      structuralSharing: false,
    }),
  justEnded: () => queryOptions({ queryKey: ["just-ended"], queryFn: (): Job[] => [], staleTime: Infinity }),
  tasks: (array: string) =>
    queryOptions({
      queryKey: ["tasks", array],
      queryFn: async (): Promise<TaskList> =>
        body(await api.GET("/v1/jobs", { params: { query: { array, brief: true, limit: 1000 } } })),
      staleTime: Infinity,
    }),
  events: (job: string) =>
    queryOptions({
      queryKey: ["events", job],
      queryFn: () =>
        allPages(async (cursor) =>
          body(await api.GET("/v1/jobs/{job}/events", { params: { path: { job }, query: { limit: 1000, cursor } } })),
        ),
      staleTime: Infinity,
    }),
  checkpoints: (job: string) =>
    queryOptions({
      queryKey: ["job", job, "checkpoints"],
      queryFn: async () => body(await api.GET("/v1/jobs/{job}/checkpoints", { params: { path: { job } } })).items,
    }),
  ranks: (job: string) =>
    queryOptions({
      queryKey: ["ranks", job],
      queryFn: async () => body(await api.GET("/v1/jobs/{job}/ranks", { params: { path: { job } } })).items,
      refetchInterval: 5000,
    }),
  file: (job: string) =>
    queryOptions({
      queryKey: ["file", job],
      queryFn: async () =>
        body<string>(await api.GET("/v1/jobs/{job}/file", { params: { path: { job } }, parseAs: "text" })),
    }),
};

/** As many jobs as a large screen shows, and some to scroll. */
const NEWEST = 100;

/** Ended jobs that come with one answer. */
const ENDED_PAGE = 500;

export type JobPage = { items: Job[]; next: string | null };
export type TaskList = JobPage;
export type EndedFilters = { state?: JobState; team?: string; user?: string; tier?: string };

/** Whether a job belongs into a list of ended jobs with these filters. */
export function endedLike(filters: EndedFilters): (job: Job) => boolean {
  return (job) =>
    job.ended !== null &&
    (filters.state === undefined || job.state === filters.state) &&
    (filters.team === undefined || isInTeam(job, filters.team)) &&
    (filters.user === undefined || job.user === filters.user) &&
    (filters.tier === undefined || job.tier === filters.tier);
}

/** The team and all teams below it. */
export function isInTeam(job: Job, team: string): boolean {
  return job.team === team || job.team.startsWith(`${team}/`);
}
