/** What the pages about the cluster, its teams and its nodes ask for. */

import { queryOptions } from "@tanstack/react-query";

import { now } from "../words/clock";
import { allPages, api, body, type Schema } from "./client";

export type History = Schema["History"];
export type NodeHealth = Schema["NodeHealth"];
export type Reservation = Schema["Reservation"];
export type Trouble = Schema["Trouble"];
export type Troubles = Schema["Troubles"];
export type WaitingStart = Schema["WaitingStart"];

/** How far back one looks, and how finely. */
export const SPANS = {
  "3 hours": { ms: 3 * 3_600_000, step: "1m" },
  "a day": { ms: 86_400_000, step: "10m" },
  "a week": { ms: 7 * 86_400_000, step: "1h" },
  "a month": { ms: 31 * 86_400_000, step: "1h" },
  "a year": { ms: 366 * 86_400_000, step: "1d" },
} as const;
export type Span = keyof typeof SPANS;

const SOON_MS = 15_000;
const AFTER_A_WHILE_MS = 60_000;
const NEXT_STARTS = 8;

export const clusterQueries = {
  history: (span: Span) =>
    queryOptions({
      queryKey: ["history", span],
      queryFn: async () => {
        const since = new Date(now() - SPANS[span].ms).toISOString();
        return body(await api.GET("/v1/history", { params: { query: { since, step: SPANS[span].step } } }));
      },
      refetchInterval: SOON_MS,
    }),
  starts: () =>
    queryOptions({
      queryKey: ["starts"],
      queryFn: async () => body(await api.GET("/v1/starts", { params: { query: { limit: NEXT_STARTS } } })).items,
      refetchInterval: SOON_MS,
    }),
  troubles: () =>
    queryOptions({ queryKey: ["troubles"], queryFn: async () => body(await api.GET("/v1/troubles")), refetchInterval: SOON_MS }),
  health: (node: string) =>
    queryOptions({
      queryKey: ["nodes", node, "health"],
      queryFn: async () => body(await api.GET("/v1/nodes/{node}/health", { params: { path: { node } } })),
      refetchInterval: SOON_MS,
    }),
  healths: () =>
    queryOptions({
      queryKey: ["health"],
      queryFn: () =>
        allPages(async (cursor) => body(await api.GET("/v1/health", { params: { query: { limit: 1000, cursor } } }))),
      refetchInterval: AFTER_A_WHILE_MS,
    }),
  reservations: () =>
    queryOptions({
      queryKey: ["reservations"],
      queryFn: () =>
        allPages(async (cursor) =>
          body(await api.GET("/v1/reservations", { params: { query: { limit: 1000, cursor } } })),
        ),
      refetchInterval: AFTER_A_WHILE_MS,
    }),
  policy: () => queryOptions({ queryKey: ["policy"], queryFn: async () => body(await api.GET("/v1/policy")) }),
};
