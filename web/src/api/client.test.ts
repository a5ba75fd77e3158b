import { beforeEach, expect, test, vi } from "vitest";

import { api } from "./client";

/** An answer with this body, as the pages get it. */
async function answered(type: string, text: string): Promise<string> {
  const fetch = () => Promise.resolve(new Response(text, { headers: { "Content-Type": type } }));
  const got = await api.GET("/v1/audit/export", { baseUrl: "http://muster.example", fetch, parseAs: "blob" });
  return (got.data as unknown as Blob).text();
}

beforeEach(() => {
  vi.stubGlobal("localStorage", { getItem: () => null });
});

test("the exported audit is what the chain covers, sign by sign", async () => {
  const line = `${JSON.stringify({ reason: "a \u202e fan" })}\n`;
  expect(await answered("application/x-ndjson", line)).toBe(line);
});

test.each(["application/json", "application/json; charset=utf-8", "application/problem+json"])(
  "in %s, which is shown, such signs are written out",
  async (type) => {
    expect(JSON.parse(await answered(type, '{"because":"a \u202e fan"}'))).toEqual({ because: "a \\u202e fan" });
  },
);
