/**
 * What keys do in the text: the usual, and a new line begins below the one before it, as YAML is written. It is not
 * `standardKeymap`, because that asks a parser of a language for indentation, which would be loaded for nothing.
 */

import {
  cursorCharLeft,
  cursorCharRight,
  cursorDocEnd,
  cursorDocStart,
  cursorGroupLeft,
  cursorGroupRight,
  cursorLineBoundaryBackward,
  cursorLineBoundaryForward,
  cursorLineDown,
  cursorLineUp,
  cursorPageDown,
  cursorPageUp,
  deleteGroupBackward,
  deleteGroupForward,
  historyKeymap,
  insertNewlineKeepIndent,
  selectAll,
  selectCharLeft,
  selectCharRight,
  selectDocEnd,
  selectDocStart,
  selectGroupLeft,
  selectGroupRight,
  selectLineBoundaryBackward,
  selectLineBoundaryForward,
  selectLineDown,
  selectLineUp,
  selectPageDown,
  selectPageUp,
} from "@codemirror/commands";
import { EditorSelection, type Line } from "@codemirror/state";
import type { Command, KeyBinding, EditorView } from "@codemirror/view";

const INDENT = "  ";

export const EDITING: readonly KeyBinding[] = [
  { key: "ArrowLeft", run: cursorCharLeft, shift: selectCharLeft, preventDefault: true },
  { key: "ArrowRight", run: cursorCharRight, shift: selectCharRight, preventDefault: true },
  { key: "ArrowUp", run: cursorLineUp, shift: selectLineUp, preventDefault: true },
  { key: "ArrowDown", run: cursorLineDown, shift: selectLineDown, preventDefault: true },
  { key: "Mod-ArrowLeft", mac: "Alt-ArrowLeft", run: cursorGroupLeft, shift: selectGroupLeft, preventDefault: true },
  { key: "Mod-ArrowRight", mac: "Alt-ArrowRight", run: cursorGroupRight, shift: selectGroupRight, preventDefault: true },
  { key: "PageUp", run: cursorPageUp, shift: selectPageUp },
  { key: "PageDown", run: cursorPageDown, shift: selectPageDown },
  { key: "Home", mac: "Cmd-ArrowLeft", run: cursorLineBoundaryBackward, shift: selectLineBoundaryBackward, preventDefault: true },
  { key: "End", mac: "Cmd-ArrowRight", run: cursorLineBoundaryForward, shift: selectLineBoundaryForward, preventDefault: true },
  { key: "Mod-Home", mac: "Cmd-ArrowUp", run: cursorDocStart, shift: selectDocStart },
  { key: "Mod-End", mac: "Cmd-ArrowDown", run: cursorDocEnd, shift: selectDocEnd },
  { key: "Enter", run: insertNewlineKeepIndent, shift: insertNewlineKeepIndent },
  { key: "Backspace", run: erased(false), shift: erased(false), preventDefault: true },
  { key: "Delete", run: erased(true), preventDefault: true },
  { key: "Mod-Backspace", mac: "Alt-Backspace", run: deleteGroupBackward, preventDefault: true },
  { key: "Mod-Delete", mac: "Alt-Delete", run: deleteGroupForward, preventDefault: true },
  { key: "Mod-a", run: selectAll },
  ...historyKeymap,
  { key: "Tab", run: indented, shift: outdented },
];

/** Take away what is chosen, or else one character. */
function erased(isForward: boolean): Command {
  return (view) => {
    const change = view.state.changeByRange((range) => {
      const reached = range.empty ? view.moveByChar(range, isForward) : range;
      const [from, to] = [Math.min(range.from, reached.from), Math.max(range.to, reached.to)];
      return { changes: { from, to }, range: EditorSelection.cursor(from) };
    });
    view.dispatch(change, { scrollIntoView: true, userEvent: isForward ? "delete.forward" : "delete.backward" });
    return true;
  };
}

function indented(view: EditorView): boolean {
  const changes = view.state.changes(linesOf(view).map((line) => ({ from: line.from, insert: INDENT })));
  // A cursor where the line begins goes along.
  view.dispatch({ changes, selection: view.state.selection.map(changes, 1), userEvent: "input.indent" });
  return true;
}

function outdented(view: EditorView): boolean {
  const changes = linesOf(view).map((line) => {
    const spaces = /^ */.exec(line.text)?.[0].length ?? 0;
    return { from: line.from, to: line.from + Math.min(spaces, INDENT.length) };
  });
  view.dispatch({ changes, userEvent: "delete.dedent" });
  return true;
}

/** The lines in which something is chosen, or the cursor is. */
function linesOf({ state: { doc, selection } }: EditorView): Line[] {
  const numbers = selection.ranges.flatMap(({ from, to }) => {
    const [first, last] = [doc.lineAt(from).number, doc.lineAt(to).number];
    return Array.from({ length: last - first + 1 }, (_, place) => first + place);
  });
  return [...new Set(numbers)].map((number) => doc.line(number));
}
