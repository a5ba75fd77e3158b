import { expect, test } from "vitest";

import type { Team } from "../../api/client";
import { amounts, covered, places, rivals } from "./amounts";

const team = (path: string, fields: Partial<Team> = {}) => ({ path, share: 0, ...fields }) as Team;

test("the sum over all types is told only where no type is named", () => {
  expect(amounts({ "*": 12, h100: 8, a100: 4 })).toBe("8 h100, 4 a100");
  expect(amounts({ "*": 12 })).toBe("12 GPUs");
  expect(amounts({ "": 4, "*": 4 })).toBe("4 GPUs");
  expect(amounts({})).toBe("–");
});

test("a guarantee is filled by GPUs of its type and by no others", () => {
  expect(covered(team("a", { used: { "*": 30, h100: 28, a100: 2 }, guaranteed: { h100: 32 } }))).toEqual({ part: 28, whole: 32 });
  expect(covered(team("a", { used: { "*": 6, h100: 6 }, guaranteed: { "*": 4 } }))).toEqual({ part: 4, whole: 4 });
  expect(covered(team("a", { used: {}, guaranteed: {} }))).toEqual({ part: 0, whole: 0 });
});

test("teams compete with those beside them, the lowest share first", () => {
  const teams = [team("b", { share: 2 }), team("b/x", { share: 5 }), team("a", { share: 3 }), team("b/y", { share: 1 })];
  expect(rivals(teams).map((each) => [each.above, each.teams.map((one) => one.path)])).toEqual([
    ["", ["b", "a"]],
    ["b", ["b/y", "b/x"]],
  ]);
});

test("teams with the same share have the same place", () => {
  expect(places([0, 0, 0.001, 2].map((share) => team("a", { share })))).toEqual([1, 1, 1, 4]);
});
