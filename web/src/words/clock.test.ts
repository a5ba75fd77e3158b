import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { heard, now } from "./clock";

const TRUE = Date.UTC(2030, 0, 1, 12);
const HOUR = 3_600_000;

const at = (ms: number) => new Date(ms).toUTCString();

describe("the time of the server", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: TRUE });
    heard(at(TRUE));
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is that of the browser while both agree to a few seconds", () => {
    heard(at(TRUE - 2000));
    expect(now()).toBe(TRUE);
  });

  it("is told by the server when the browser is wrong, and goes on", () => {
    vi.setSystemTime(TRUE + HOUR);
    heard(at(TRUE));
    vi.advanceTimersByTime(5000);
    expect(now()).toBe(TRUE + 5000);
  });

  it("does not tremble with every answer", () => {
    vi.setSystemTime(TRUE + HOUR);
    heard(at(TRUE));
    heard(at(TRUE - 1000));
    expect(now()).toBe(TRUE);
  });

  it("is right again when the clock of the browser was set", () => {
    vi.setSystemTime(TRUE + HOUR);
    heard(at(TRUE));
    vi.setSystemTime(TRUE);
    heard(at(TRUE));
    expect(now()).toBe(TRUE);
  });

  it("is not changed by an answer that says no time", () => {
    heard(null);
    heard("soon");
    expect(now()).toBe(TRUE);
  });
});
