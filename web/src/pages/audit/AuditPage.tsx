import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";

import { useSettled } from "../../parts/useSettled";
import { Chain } from "./Chain";
import { Entries } from "./Entries";
import "./audit.css";
import { type AuditFilters, NAMES } from "./filters";
import { downloadAudit } from "./queries";

const LABELS = { by: "Who", action: "Did what", subject: "To what", since: "Since", until: "Until" };
const EXAMPLES = { by: "ann", action: "jobs.cancel", subject: "job-12", since: "", until: "" };

/** Who did what, and whether the record of it is whole. */
export function AuditPage(): ReactNode {
  const filters: AuditFilters = useSearch({ strict: false });
  const settled = useSettled(JSON.stringify(filters));
  const shown = useMemo(() => JSON.parse(settled) as AuditFilters, [settled]);
  const exporting = useMutation({ mutationFn: () => downloadAudit(filters) });
  return (
    <>
      <h1>Audit</h1>
      <div className="row audit-filters">
        {NAMES.map((name) => (
          <Filter key={name} name={name} filters={filters} />
        ))}
        <button
          disabled={exporting.isPending}
          onClick={() => {
            exporting.mutate();
          }}
        >
          Export
        </button>
        {exporting.error && (
          <span className="tone-bad" role="alert">
            {exporting.error.message}
          </span>
        )}
      </div>
      <Chain />
      <Entries filters={shown} />
    </>
  );
}

function Filter({ name, filters }: { name: (typeof NAMES)[number]; filters: AuditFilters }) {
  const navigate = useNavigate();
  const isTime = name === "since" || name === "until";
  return (
    <label>
      {LABELS[name]}
      <input
        type={isTime ? "datetime-local" : name === "by" ? "search" : "text"}
        value={filters[name] ?? ""}
        placeholder={EXAMPLES[name]}
        onChange={(event) => {
          const changed = { ...filters, [name]: event.target.value || undefined };
          void navigate({ to: "/audit", search: changed, replace: true });
        }}
      />
    </label>
  );
}
