import { expect, test } from "vitest";

import { duration, fromNow } from "./amounts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

test("a duration has its two largest units", () => {
  expect([0, 59, 60, 3661, 90_000].map(duration)).toEqual(["0 s", "59 s", "1 min", "1 h 1 min", "1 d 1 h"]);
});

test("a time to come is a forecast, and no forecast is exact to the second", () => {
  expect(fromNow("2026-01-01T00:54:29Z", NOW)).toBe("in 54 min");
  expect(fromNow("2026-01-01T00:59:40Z", NOW)).toBe("in 1 h");
  expect(fromNow("2026-01-01T11:31:00Z", NOW)).toBe("in 12 h");
  expect(fromNow("2026-01-01T00:00:42Z", NOW)).toBe("in 42 s");
  expect(fromNow("2025-12-31T23:05:31Z", NOW)).toBe("54 min 29 s ago");
});
