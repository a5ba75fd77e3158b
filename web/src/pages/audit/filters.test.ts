import { describe, expect, it } from "vitest";

import { asked, auditFilters } from "./filters";

describe("the filters of the audit", () => {
  it("are read from the address, and nothing else is", () => {
    expect(auditFilters({ by: "ann", action: "", subject: 7, page: "2" })).toEqual({ by: "ann", subject: "7" });
  });

  it("ask for moments in UTC", () => {
    const at = new Date(2026, 0, 2, 3, 4);
    expect(asked({ since: "2026-01-02T03:04" }).since).toBe(at.toISOString());
  });

  it("leave out what is no moment yet", () => {
    expect(asked({ since: "2026-", by: "ann" })).toEqual({ by: "ann", since: undefined, until: undefined });
  });
});
