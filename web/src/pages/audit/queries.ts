import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, body } from "../../api/client";
import { asked, type AuditFilters } from "./filters";

const PAGE = 100;

export const auditQueries = {
  entries: (filters: AuditFilters) =>
    infiniteQueryOptions({
      queryKey: ["audit", "entries", filters],
      initialPageParam: undefined as string | undefined,
      queryFn: async ({ pageParam }) => {
        const query = { ...asked(filters), newest_first: true, limit: PAGE, cursor: pageParam };
        return body(await api.GET("/v1/audit", { params: { query } }));
      },
      getNextPageParam: (page) => page.next ?? undefined,
    }),
  head: () =>
    queryOptions({ queryKey: ["audit", "head"], queryFn: async () => body(await api.GET("/v1/audit/head")) }),
};

/** All entries that match, as JSON lines in a file. */
export async function downloadAudit(filters: AuditFilters): Promise<void> {
  const lines = body(await api.GET("/v1/audit/export", { params: { query: asked(filters) }, parseAs: "blob" }));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(lines);
  link.download = "muster-audit.jsonl";
  link.click();
  URL.revokeObjectURL(link.href);
}
