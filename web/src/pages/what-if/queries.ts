import { queryOptions } from "@tanstack/react-query";

import { api, body, type Schema } from "../../api/client";

export type Run = Schema["WhatIfRun"];
export type Figures = Schema["WhatIfFigures"];
export type Asked = Schema["NewWhatIf"];

/** How often one looks how far a simulation is. */
const LOOK_MS = 700;

export const whatIfQueries = {
  all: () =>
    queryOptions({
      queryKey: ["what-if"],
      queryFn: async () => body(await api.GET("/v1/what-if")),
      refetchInterval: (query) => (query.state.data?.runs.every(isOver) === false ? LOOK_MS : false),
    }),
  one: (run: string) =>
    queryOptions({
      queryKey: ["what-if", run],
      queryFn: async () => body(await api.GET("/v1/what-if/{run}", { params: { path: { run } } })),
      refetchInterval: (query) => (query.state.data !== undefined && isOver(query.state.data) ? false : LOOK_MS),
    }),
  /** A link is good once, so that each look at a report has its own. */
  report: (run: string) =>
    queryOptions({
      queryKey: ["what-if", run, "report"],
      staleTime: Infinity,
      gcTime: 0,
      queryFn: async () => body(await api.POST("/v1/what-if/{run}/report-links", { params: { path: { run } } })).path,
    }),
  policy: () => queryOptions({ queryKey: ["policy"], queryFn: async () => body(await api.GET("/v1/policy")) }),
};

export function isOver(run: Run): boolean {
  return run.state !== "waiting" && run.state !== "running";
}
