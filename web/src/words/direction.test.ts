import { expect, test } from "vitest";

import { unturned, unturnedJson } from "./direction";

test("what would turn the direction of reading is written out", () => {
  expect(unturned("\u202egnp.exe\u2066")).toBe("\\u202egnp.exe\\u2066");
  expect(unturned("שלום مرحبا")).toBe("שלום مرحبا");
});

test("a document with such signs says that they were there", () => {
  const document = JSON.stringify({ because: "a \u202e fan", name: "שלום" });
  expect(JSON.parse(unturnedJson(document))).toEqual({ because: "a \\u202e fan", name: "שלום" });
});
