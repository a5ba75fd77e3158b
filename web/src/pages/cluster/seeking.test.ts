import { expect, test } from "vitest";

import { isSoughtSeat, onlyJob } from "./seeking";

const seat = { job: "job-10", name: "pretrain", team: "nlp", share: 1 };

test("a part of a name finds every job that has it", () => {
  expect(isSoughtSeat(seat, "job-1")).toBe(true);
  expect(isSoughtSeat(seat, "nlp")).toBe(true);
  expect(isSoughtSeat(seat, "")).toBe(false);
});

test("one job exactly is not a job whose id begins like its own", () => {
  expect(isSoughtSeat(seat, onlyJob("job-1"))).toBe(false);
  expect(isSoughtSeat(seat, onlyJob("job-10"))).toBe(true);
});
