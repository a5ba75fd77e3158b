import { expect, test } from "vitest";

import { PLACES, titleOf } from "./places";

test("a tab is called after its page, and that of a job after the job", () => {
  expect(titleOf("/")).toBe("Overview · Muster");
  expect(titleOf("/what-if")).toBe("What-if · Muster");
  expect(titleOf("/jobs/job-7")).toBe("job-7 · Muster");
  expect(titleOf("/jobs/a%20b")).toBe("a b · Muster");
  expect(titleOf("/jobs/%E0")).toBe("%E0 · Muster");
  expect(titleOf("/nowhere")).toBe("Muster");
});

test("every page has a letter of its own", () => {
  expect(new Set(PLACES.map((each) => each.letter)).size).toBe(PLACES.length);
});
