/** What is coloured in a job file, and where something is wrong with it. */

import { type EditorState, type Extension, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, MatchDecorator, ViewPlugin } from "@codemirror/view";

import type { Schema as Api } from "../../api/client";

type FieldError = Api["FieldError"];

/** Keys of mappings in both ways of writing, comments, and values that are not text. */
export const WORDS =
  /(?<key>(?<=^\s*(?:- )*|[{,]\s*)[\w.-]+(?=:(?:\s|$)))|(?<comment>(?<=^|\s)#.*$)|(?<value>(?<=:\s+)(?:\d[\d.]*|true|false|null)(?=\s*(?:[,}]|$)))/g;

const KINDS = {
  key: Decoration.mark({ class: "key" }),
  comment: Decoration.mark({ class: "comment" }),
  value: Decoration.mark({ class: "value" }),
};

const words = new MatchDecorator({
  regexp: WORDS,
  decorate: (add, from, to, match) => {
    const kind = (["key", "comment", "value"] as const).find((each) => match.groups?.[each] !== undefined);
    if (kind !== undefined) {
      add(from, to, KINDS[kind]);
    }
  },
});

export const colouring: Extension = ViewPlugin.define(
  (view) => {
    let shown = words.createDeco(view);
    return {
      update: (update) => {
        shown = words.updateDeco(update, shown);
      },
      get shown() {
        return shown;
      },
    };
  },
  { decorations: (plugin) => plugin.shown },
);

/** Mark the lines of these errors, and no others. */
export const setMarks = StateEffect.define<FieldError[]>();

export const marking: Extension = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (before, change) => {
    const set = change.effects.find((effect) => effect.is(setMarks));
    return set === undefined ? before.map(change.changes) : marksOf(change.state, set.value);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function marksOf(state: EditorState, errors: FieldError[]): DecorationSet {
  return Decoration.set(errors.flatMap((error) => marks(state, error)), true);
}

/** A wavy line under what is wrong, which says what it is when one points at it. */
function marks(state: EditorState, error: FieldError): Range<Decoration>[] {
  if (error.line == null || error.line < 1 || error.line > state.doc.lines) {
    return [];
  }
  const line = state.doc.line(error.line);
  const title = `${error.problem}${error.hint == null ? "" : ` (${error.hint})`}`;
  const found = [Decoration.line({ class: "wrong-line" }).range(line.from)];
  return line.from === line.to ? found : [...found, Decoration.mark({ class: "wrong", attributes: { title } }).range(line.from, line.to)];
}
