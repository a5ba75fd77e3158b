import { queryOptions } from "@tanstack/react-query";

import { api, body, Problem, type Schema } from "../../api/client";
import { queries } from "../../api/queries";
import type { Schema as JobSchema } from "./completion";

export type DryRun = Schema["DryRun"];

/** What the server says of a text: what would happen to the job, or what is wrong with it. */
export type Checked = { would: DryRun; problem?: undefined } | { would?: undefined; problem: Problem };

const FILE = "job.yaml";

export const submitQueries = {
  schema: () =>
    queryOptions({
      queryKey: ["schema", "job"],
      staleTime: Infinity,
      queryFn: async () => body(await api.GET("/v1/schema/job")) as JobSchema,
    }),
  checked: (text: string) =>
    queryOptions({
      queryKey: ["checked", text],
      gcTime: 60_000,
      retry: false,
      queryFn: async ({ signal }): Promise<Checked> => {
        try {
          const asked = { params: { query: { dry_run: true } }, body: { text, file: FILE, held: false }, signal };
          return { would: body(await api.POST("/v1/jobs", asked)) as DryRun };
        } catch (error) {
          if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) {
            return { problem: error };
          }
          throw error;
        }
      },
    }),
  /** The file of a job that is there, to be submitted with changes. */
  fileOf: (job: string) => queryOptions({ ...queries.file(job), staleTime: Infinity }),
  profiles: () => queryOptions({ queryKey: ["profiles"], queryFn: async () => body(await api.GET("/v1/profiles")) }),
  tiers: () => queryOptions({ queryKey: ["tiers"], queryFn: async () => body(await api.GET("/v1/tiers")) }),
};

/** Submit a text. The same key again is the same job. */
export async function submit(text: string, key: string, held: boolean): Promise<Schema["Job"]> {
  const asked = { params: { header: { "Idempotency-Key": key } }, body: { text, file: FILE, held } };
  return body(await api.POST("/v1/jobs", asked)) as Schema["Job"];
}
