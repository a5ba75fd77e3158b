import { expect, it } from "vitest";

import { Problem } from "./client";
import { forEach, summary } from "./several";

it("asks a few at a time, and all in the end", async () => {
  let under = 0;
  let most = 0;
  const outcomes = await forEach(
    Array.from({ length: 20 }, (_, index) => `job-${index}`),
    async () => {
      most = Math.max(most, (under += 1));
      await Promise.resolve();
      under -= 1;
    },
  );
  expect(outcomes).toHaveLength(20);
  expect(most).toBeLessThanOrEqual(4);
});

it("says what was refused and why", async () => {
  const outcomes = await forEach(["job-1", "job-2", "job-3"], (id) =>
    id === "job-2" ? Promise.reject(new Problem(409, "it has ended")) : Promise.resolve(),
  );
  expect(summary("cancelled", outcomes)).toBe("2 cancelled, 1 refused: job-2: it has ended");
});

it("names only the first of many refusals", () => {
  const outcomes = Array.from({ length: 5 }, (_, index) => ({ id: `job-${index}`, refused: "no" }));
  expect(summary("held", outcomes)).toBe("0 held, 5 refused: job-0: no; job-1: no; job-2: no; and 2 more");
});
