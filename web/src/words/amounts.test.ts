import { expect, test } from "vitest";

import { duration, fromNow, measured, money } from "./amounts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

test("a duration has its two largest units", () => {
  expect([0, 59, 60, 3661, 90_000].map(duration)).toEqual(["0 s", "59 s", "1 min", "1 h 1 min", "1 d 1 h"]);
});

test("a time to come is rounded up, as the server does in its sentences, and no forecast is exact to the second", () => {
  expect(fromNow("2026-01-01T00:54:29Z", NOW)).toBe("in 55 min");
  expect(fromNow("2026-01-01T00:59:40Z", NOW)).toBe("in 1 h");
  expect(fromNow("2026-01-01T00:00:59.500Z", NOW)).toBe("in 1 min");
  expect(fromNow("2026-01-01T23:57:10Z", NOW)).toBe("in 23 h 58 min");
  expect(fromNow("2026-01-02T01:01:00Z", NOW)).toBe("in 1 d 2 h");
  expect(fromNow("2026-01-01T00:00:42Z", NOW)).toBe("in 42 s");
  expect(fromNow("2025-12-31T23:05:31Z", NOW)).toBe("54 min 29 s ago");
});

test("what was measured has its unit, and bytes are told so that they can be read", () => {
  expect(measured(81_264_902_144, "bytes")).toBe("81.3 GB");
  expect(measured(40, "°C")).toBe("40 °C");
  expect([measured(3, "errors"), measured(0, "")]).toEqual(["3", "0"]);
});

test("a price has two digits behind the point, wherever one reads it", () => {
  expect([0, 1, 2.5, 1234.567].map(money)).toEqual(["0.00", "1.00", "2.50", "1,234.57"]);
});
