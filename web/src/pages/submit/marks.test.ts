import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { expect, test } from "vitest";

import { marking, setMarks, WORDS } from "./marks";

const found = (line: string) =>
  [...line.matchAll(WORDS)].map((each) => [Object.entries(each.groups ?? {}).find(([, text]) => text)?.[0], each[0]]);

test("keys, comments and values that are not text are coloured", () => {
  expect(found("workers: 12  # a dozen")).toEqual([["key", "workers"], ["comment", "# a dozen"]]);
  expect(found("resources: {gpus: 8, exclusive: true}")).toEqual([
    ["key", "resources"],
    ["key", "gpus"],
    ["value", "8"],
    ["key", "exclusive"],
    ["value", "true"],
  ]);
  expect(found("  - name: a#b")).toEqual([["key", "name"]]);
  expect(found("  python train.py --url http://host:80")).toEqual([]);
});

test("lines with an error are marked until other errors are told, and errors of no line are not", () => {
  const error = (line: number | null) => ({ path: "name", problem: "wrong", hint: "write it otherwise", line }) as never;
  const state = EditorState.create({ doc: "name: 1\n\nrun: x", extensions: [marking] });
  const told = state.update({ effects: setMarks.of([error(3), error(2), error(null), error(9)]) }).state;
  const places = (of: EditorState) =>
    of.facet(EditorView.decorations).flatMap((set) => {
      const marks: string[] = [];
      if (typeof set !== "function") {
        set.between(0, of.doc.length, (from, to, mark) => {
          marks.push(`${from}-${to} ${(mark.spec as { attributes?: { title: string } }).attributes?.title ?? ""}`);
        });
      }
      return marks;
    });
  expect(places(told)).toEqual(["8-8 ", "9-9 ", "9-15 wrong (write it otherwise)"]);
  expect(places(told.update({ effects: setMarks.of([]) }).state)).toEqual([]);
});
