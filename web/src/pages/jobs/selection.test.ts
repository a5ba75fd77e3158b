import { expect, it } from "vitest";

import { allOrNothing, extended, NOTHING, toggled } from "./selection";

const SHOWN = ["a", "b", "c", "d"];

it("chooses and unchooses one", () => {
  const one = toggled(NOTHING, "b");
  expect([...one.chosen]).toEqual(["b"]);
  expect([...toggled(one, "b").chosen]).toEqual([]);
});

it("chooses all from the last touched row to this one, in both directions", () => {
  expect([...extended(toggled(NOTHING, "b"), "d", SHOWN).chosen]).toEqual(["b", "c", "d"]);
  expect([...extended(toggled(NOTHING, "c"), "a", SHOWN).chosen].sort()).toEqual(["a", "b", "c"]);
});

it("unchooses a range when the last touch unchose", () => {
  const all = allOrNothing(NOTHING, SHOWN);
  expect([...extended(toggled(all, "a"), "c", SHOWN).chosen]).toEqual(["d"]);
});

it("starts anew when the last touched row is not shown any more", () => {
  expect([...extended({ chosen: new Set(), last: "gone" }, "b", SHOWN).chosen]).toEqual(["b"]);
});

it("chooses all that is shown, or nothing", () => {
  const all = allOrNothing(toggled(NOTHING, "b"), SHOWN);
  expect([...all.chosen]).toEqual(SHOWN);
  expect(allOrNothing(all, SHOWN)).toBe(NOTHING);
});
