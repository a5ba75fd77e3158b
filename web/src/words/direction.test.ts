import { expect, test } from "vitest";

import printable from "../../../src/muster/model/printable.py?raw";
import { TURNS, unturned, unturnedJson } from "./direction";

test("what would turn the direction of reading is written out", () => {
  expect(unturned("\u202egnp.exe\u2066")).toBe("\\u202egnp.exe\\u2066");
  expect(unturned("a\u061cb\u200ec\u200f")).toBe("a\\u061cb\\u200ec\\u200f");
  expect(unturned("שלום مرحبا")).toBe("שלום مرحبا");
});

test("a document with such signs says that they were there", () => {
  const document = JSON.stringify({ because: "a \u202e fan", name: "שלום" });
  expect(JSON.parse(unturnedJson(document))).toEqual({ because: "a \\u202e fan", name: "שלום" });
  expect(JSON.parse(unturnedJson('{"because":"a \u061c fan"}'))).toEqual({ because: "a \\u061c fan" });
});

test("the same signs are written out as on the command line", () => {
  const [, signs] = /"([^"]*)" {2}# reading direction/.exec(printable) ?? [];
  expect(TURNS.source).toBe(`[${(signs ?? "").replaceAll("\\\\", "\\")}]`);
});
