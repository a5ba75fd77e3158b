import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";

import { offerAt, offered, setOffer, taken } from "./completing";
import type { Schema } from "./completion";

const SCHEMA: Schema = {
  properties: {
    name: { description: "What people call it." },
    launch: { enum: ["plain", "torchrun"] },
    resources: { properties: { gpus: { description: "Whole GPUs." }, gpu_type: {} } },
    workers: {},
  },
};

/** A text with a cursor where `|` is. */
const at = (text: string) =>
  EditorState.create({ doc: text.replace("|", ""), selection: { anchor: text.indexOf("|") }, extensions: [offered] });
const labels = (text: string, isAsked = false) => offerAt(at(text), SCHEMA, isAsked)?.options.map((each) => each.label);

test("what begins as it is written comes first, then what has it inside", () => {
  expect(labels("r|")).toEqual(["resources", "workers"]);
  expect(labels("resources:\n  gp|")).toEqual(["gpus", "gpu_type"]);
  expect(labels("launch: t|")).toEqual(["torchrun"]);
});

test("nothing is offered without a letter unless it is asked for, nor where nothing is known, nor what is there already", () => {
  expect(labels("|")).toBeUndefined();
  expect(labels("|", true)).toEqual(["name", "launch", "resources", "workers"]);
  expect(labels("run: a b c|", true)).toBeUndefined();
  expect(labels("launch: plain|")).toBeUndefined();
  expect(offerAt(at("r|"), undefined, true)).toBeNull();
});

test("a key gets its colon, and a word does not", () => {
  const chosen = (text: string, place: number) => {
    const state = at(text);
    const offer = offerAt(state, SCHEMA, true);
    return offer && state.update(taken(state, offer, place)).state.doc.toString();
  };
  expect(chosen("name: a\nres|", 0)).toBe("name: a\nresources: ");
  expect(chosen("launch: |", 1)).toBe("launch: torchrun");
});

test("the list goes when the cursor does", () => {
  const state = at("r|");
  const open = state.update({ effects: setOffer.of(offerAt(state, SCHEMA, false)) }).state;
  expect(open.field(offered)?.options).toHaveLength(2);
  expect(open.update({ selection: { anchor: 0 } }).state.field(offered)).toBeNull();
});
