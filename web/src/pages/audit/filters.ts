/** Which entries of the audit are shown. They are in the address, so that a view can be sent to somebody. */

export type AuditFilters = {
  by?: string | undefined;
  action?: string | undefined;
  subject?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
};

export const NAMES = ["by", "action", "subject", "since", "until"] as const;

/** What of an address is a filter. */
export function auditFilters(search: Record<string, unknown>): AuditFilters {
  const filters: AuditFilters = {};
  for (const name of NAMES) {
    const value = search[name];
    // The router reads a number in an address as a number.
    if ((typeof value === "string" && value !== "") || typeof value === "number") {
      filters[name] = String(value);
    }
  }
  return filters;
}

/** The filters as the API takes them: moments of the reader's zone become moments in UTC. What is no moment is left out. */
export function asked(filters: AuditFilters): AuditFilters {
  return { ...filters, since: moment(filters.since), until: moment(filters.until) };
}

function moment(text: string | undefined): string | undefined {
  const at = new Date(text ?? "");
  const isWhole = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text ?? "") && !Number.isNaN(at.getTime());
  return isWhole ? at.toISOString() : undefined;
}
