import { expect, test } from "vitest";

import { sliceOf } from "./rowsInSight";

const rows = (count: number, ahead = 0, high: Record<number, number> = {}) => ({
  count,
  ahead,
  heightOf: (index: number) => high[index] ?? 10,
});

test("the rows in sight are those between two places, also where only a part of a row is seen", () => {
  expect(sliceOf(rows(100), 0, 30)).toEqual({ first: 0, end: 3, abovePx: 0, belowPx: 970 });
  expect(sliceOf(rows(100), 25, 30)).toEqual({ first: 2, end: 6, abovePx: 20, belowPx: 940 });
  expect(sliceOf(rows(100, 5), 500, 30)).toEqual({ first: 45, end: 58, abovePx: 450, belowPx: 420 });
});

test("a row that is higher than others takes its place", () => {
  expect(sliceOf(rows(10, 0, { 0: 100 }), 95, 20)).toEqual({ first: 0, end: 3, abovePx: 0, belowPx: 70 });
});

test("at both ends there is nothing ahead, and of an empty list there is nothing", () => {
  expect(sliceOf(rows(10, 3), 80, 50)).toEqual({ first: 5, end: 10, abovePx: 50, belowPx: 0 });
  expect(sliceOf(rows(2, 3), 900, 50)).toEqual({ first: 0, end: 2, abovePx: 0, belowPx: 0 });
  expect(sliceOf(rows(0, 3), 0, 50)).toEqual({ first: 0, end: 0, abovePx: 0, belowPx: 0 });
});
