import { expect, test } from "vitest";

import type { Node } from "../../api/client";
import { colourOf } from "../../words/colours";
import { colourOfCell, conditionOf, shareOf } from "./paint";

const node = (state: Node["state"], bad_gpus: number[] = []) => ({ name: "n1", state, bad_gpus }) as unknown as Node;
const seat = (job: string, share = 1) => ({ job, name: job, team: "nlp", share });

test("a bad GPU of a ready node is out, and the others are well", () => {
  expect(conditionOf(node("ready", [3]), 3)).toBe("out");
  expect(conditionOf(node("ready", [3]), 2)).toBe("well");
  expect(conditionOf(node("drained"), 2)).toBe("set aside");
});

test("a free GPU has no colour of its own, and its health is shown all the same", () => {
  expect(colourOfCell(node("ready"), 0, [], "job")).toBeUndefined();
  expect(colourOfCell(node("ready"), 0, [], "health")).toBe("var(--map-well)");
});

test("jobs that share a GPU each have a stripe, and one colour when they are of one team", () => {
  const both = [seat("a", 0.5), seat("b", 0.25)];
  expect(colourOfCell(node("ready"), 0, both, "job")).toContain("linear-gradient");
  expect(colourOfCell(node("ready"), 0, both, "team")).toBe(colourOf("nlp"));
  expect(shareOf(both)).toBe(0.75);
});
