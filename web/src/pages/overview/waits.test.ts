import { expect, test } from "vitest";

import { waitsOf } from "./waits";

test("the mean is over all starts, not over steps", () => {
  const tier = { waiting_job_s: [0, 0], starts: [1, 3], waited_s: [40, 0], longest_wait_s: [40, 0] };
  expect(waitsOf(tier)).toEqual({ starts: 4, mean_s: 10, longest_s: 40 });
});

test("without a start there is nothing to tell", () => {
  expect(waitsOf({ waiting_job_s: [9], starts: [0], waited_s: [0], longest_wait_s: [0] })).toBeUndefined();
  expect(waitsOf(undefined)).toBeUndefined();
});
