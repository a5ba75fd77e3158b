import { expect, test } from "vitest";

import { colourOf, coloursOf } from "./colours";

test("names beside each other have different colours, also where their own would be alike", () => {
  expect(colourOf("language")).toBe(colourOf("vision"));
  const [language, vision] = coloursOf(["language", "vision"]);
  expect(language).toBe(colourOf("language"));
  expect(vision).not.toBe(language);
});

test("more names than colours have some of the same", () => {
  const names = Array.from({ length: 30 }, (_, number) => `team-${number}`);
  expect(new Set(coloursOf(names)).size).toBe(24);
});
