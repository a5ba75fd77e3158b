import { beforeEach, describe, expect, it, vi } from "vitest";

import { wholeLog } from "./log";

const MIB = 1024 * 1024;

/** A server whose log has this many parts of one mebibyte. */
function printing(parts: number): void {
  const part = new ArrayBuffer(MIB);
  const answer = (url: string) => {
    const offset = Number(new URL(url, "http://muster.example").searchParams.get("offset"));
    const body = offset < parts * MIB ? part : new ArrayBuffer(0);
    const headers = new Headers({ "Muster-Log-End": String(offset + body.byteLength) });
    return Promise.resolve({ ok: true, headers, arrayBuffer: () => Promise.resolve(body) });
  };
  vi.stubGlobal("fetch", answer);
}

describe("a log that is saved", () => {
  beforeEach(() => {
    vi.stubGlobal("localStorage", { getItem: () => null });
  });

  it("is whole", async () => {
    printing(3);
    expect((await wholeLog("job-7", 1, 0)).size).toBe(3 * MIB);
  });

  it("is refused when it is too large, with the command that saves it", async () => {
    printing(257);
    await expect(wholeLog("job-7", 2, 3)).rejects.toThrow(/256 MiB.*muster logs job-7 --attempt 2 --rank 3/);
  });
});
