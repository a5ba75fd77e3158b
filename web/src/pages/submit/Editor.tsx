import { history } from "@codemirror/commands";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "react";

import type { Schema as Api } from "../../api/client";
import { TURNS, writtenOut } from "../../words/direction";
import { completing } from "./completing";
import type { Schema } from "./completion";
import { EDITING } from "./editing";
import { colouring, marking, setMarks } from "./marks";

type Edited = { text: string; errors: Api["FieldError"][]; schema: Schema | undefined; onText: (text: string) => void };

/**
 * The job file as text. The editor lives in a shadow tree: its style sheets are adopted there by script, which the
 * content security policy of the page allows, while it forbids style elements.
 */
export function Editor({ text, errors, schema, onText }: Edited) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ onText, schema });
  useEffect(() => {
    latest.current = { onText, schema };
  }, [onText, schema]);
  useLayoutEffect(() => {
    const host = place.current;
    if (host === null) {
      return;
    }
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const told = EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        latest.current.onText(update.state.doc.toString());
      }
    });
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({ extensions: [basics(), completing(() => latest.current.schema), told] }),
    });
    view.current = made;
    return () => {
      made.destroy();
    };
  }, []);
  // At once: after a moment somebody may have typed more, which an older text would take back.
  useLayoutEffect(() => {
    const shown = view.current;
    const before = shown?.state.doc.toString();
    if (shown !== undefined && before !== undefined && before !== text) {
      shown.dispatch({ changes: difference(before, text) });
    }
  }, [text]);
  useEffect(() => {
    const shown = view.current;
    shown?.dispatch({ effects: setMarks.of(errors) });
  }, [errors]);
  return <div ref={place} className="job-editor" data-testid="editor" />;
}

/** The smallest stretch that differs, so that the cursor stays where it is. */
function difference(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) {
    from += 1;
  }
  let end = 0;
  while (end < shorter - from && before[before.length - 1 - end] === after[after.length - 1 - end]) {
    end += 1;
  }
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}

function basics(): Extension {
  return [
    lineNumbers(),
    highlightSpecialChars({ addSpecialChars: TURNS, render: hiddenSign }),
    history(),
    colouring,
    marking,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "Job file" }),
    keymap.of(EDITING),
    LOOK,
  ];
}

/** What stands for a sign that cannot be seen. It stays one sign of the text: one step of the cursor, one to delete. */
function hiddenSign(code: number, description: string | null): HTMLElement {
  const shown = document.createElement("span");
  shown.className = "hidden-sign";
  shown.textContent = writtenOut(String.fromCharCode(code));
  shown.title = description ?? "turns the direction of reading";
  return shown;
}

const LOOK = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--ground)", fontSize: "13px", borderRadius: "6px" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-content": { fontFamily: "var(--mono)", minHeight: "320px", caretColor: "var(--ink)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--soft)", borderRight: "1px solid var(--edge)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", color: "var(--ink)", border: "1px solid var(--edge)" },
  ".completions ul": { listStyle: "none", margin: 0, padding: 0, maxHeight: "12em", overflowY: "auto", fontFamily: "var(--mono)" },
  ".completions li": { padding: "1px 8px", cursor: "pointer" },
  ".completions li[aria-selected=true]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
  ".completions p": { margin: 0, padding: "4px 8px", maxWidth: "320px", borderTop: "1px solid var(--edge)", color: "var(--soft)", fontFamily: "system-ui, sans-serif" },
  ".key": { color: "var(--accent)" },
  ".value": { color: "var(--warn)" },
  ".comment": { color: "var(--soft)", fontStyle: "italic" },
  ".hidden-sign": { color: "var(--bad)" },
  ".wrong": { textDecoration: "underline wavy var(--bad)" },
  ".wrong-line": { boxShadow: "inset 3px 0 var(--bad)" },
});
