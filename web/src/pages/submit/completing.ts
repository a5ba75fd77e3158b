/** What may be written at the cursor is offered in a list below it: the arrows choose, Enter takes it, Escape closes. */

import { type EditorState, type Extension, Prec, StateEffect, StateField, type TransactionSpec } from "@codemirror/state";
import { type Command, EditorView, keymap, showTooltip, type TooltipView } from "@codemirror/view";

import { type Option, options, pathAt, type Schema } from "./completion";

/** Where the list stands for, what is in it, and which of it Enter takes. */
export type Offer = { from: number; options: Option[]; current: number };

const SHOWN = 100;
const LIST = "completions";
/** A key that is being written, or a key and its value. */
const WRITTEN = /^\s*(?:([\w-]+):\s+)?([\w-]*)$/;

export const setOffer = StateEffect.define<Offer | null>();

/** The list goes when the cursor does, and is made anew when somebody types. */
export const offered = StateField.define<Offer | null>({
  create: () => null,
  update: (before, change) => {
    const set = change.effects.find((effect) => effect.is(setOffer));
    return set !== undefined ? set.value : change.docChanged || change.selection ? null : before;
  },
  provide: (field) => [
    showTooltip.from(field, (offer) => offer && { pos: offer.from, create: (view) => drawn(view) }),
    EditorView.contentAttributes.from(field, (offer): Record<string, string> => ({
      "aria-autocomplete": "list",
      "aria-haspopup": "listbox",
      ...(offer && { "aria-controls": LIST, "aria-activedescendant": `${LIST}-${offer.current}` }),
    })),
  ],
});

/** What may stand where the cursor is. Without a letter nothing is offered, unless somebody asks for it. */
export function offerAt(state: EditorState, schema: Schema | undefined, isAsked: boolean): Offer | null {
  const cursor = state.selection.main.head;
  const line = state.doc.lineAt(cursor);
  const written = WRITTEN.exec(line.text.slice(0, cursor - line.from));
  const [key, begun = ""] = written?.slice(1) ?? [];
  if (schema === undefined || written === null || (begun === "" && !isAsked)) {
    return null;
  }
  const path = pathAt(state.doc.toString().split("\n"), line.number - 1);
  const found = matching(options(schema, path, key), begun).slice(0, SHOWN);
  const isDone = found.length === 1 && found[0]?.label === begun;
  return found.length === 0 || isDone ? null : { from: cursor - begun.length, options: found, current: 0 };
}

/** What begins like that, and then what has it inside. */
function matching(all: Option[], begun: string): Option[] {
  const wanted = begun.toLowerCase();
  const places = all.map((option) => ({ option, place: option.label.toLowerCase().indexOf(wanted) }));
  return places.filter(({ place }) => place >= 0).sort((one, other) => one.place - other.place).map(({ option }) => option);
}

/** The text with what was chosen. A key gets what stands behind keys. */
export function taken(state: EditorState, { from, options: all }: Offer, place: number): TransactionSpec {
  const line = state.doc.lineAt(from);
  const isKey = state.doc.sliceString(line.from, from).trim() === "";
  const insert = (all[place]?.label ?? "") + (isKey ? ": " : "");
  const to = state.selection.main.head;
  return {
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    effects: setOffer.of(null),
    userEvent: "input.complete",
    scrollIntoView: true,
  };
}

export function completing(schema: () => Schema | undefined): Extension {
  return [
    offered,
    Prec.highest(keymap.of(keys(schema))),
    EditorView.updateListener.of(({ view, transactions, state }) => {
      const isTyped = transactions.some((each) => each.isUserEvent("input.type"));
      const isErased = transactions.some((each) => each.isUserEvent("delete") && each.startState.field(offered) !== null);
      if (isTyped || isErased) {
        show(view, offerAt(state, schema(), false));
      }
    }),
    EditorView.domEventHandlers({ blur: (_event, view) => { show(view, null); } }),
  ];
}

/** After what is under way, because a view may not be changed from within a change. */
function show(view: EditorView, offer: Offer | null): void {
  queueMicrotask(() => {
    if (offer !== view.state.field(offered)) {
      view.dispatch({ effects: setOffer.of(offer) });
    }
  });
}

function keys(schema: () => Schema | undefined) {
  return [
    { key: "Ctrl-Space", mac: "Alt-`", run: (view: EditorView) => asked(view, schema()) },
    { key: "ArrowDown", run: moved(1) },
    { key: "ArrowUp", run: moved(-1) },
    { key: "Enter", run: withOffer((view, offer) => { view.dispatch(taken(view.state, offer, offer.current)); }) },
    { key: "Escape", run: withOffer((view) => { view.dispatch({ effects: setOffer.of(null) }); }) },
  ];
}

function asked(view: EditorView, schema: Schema | undefined): boolean {
  view.dispatch({ effects: setOffer.of(offerAt(view.state, schema, true)) });
  return true;
}

function moved(by: number): Command {
  return withOffer((view, offer) => {
    const count = offer.options.length;
    view.dispatch({ effects: setOffer.of({ ...offer, current: (offer.current + by + count) % count }) });
  });
}

/** A key that means something only while the list is there. */
function withOffer(act: (view: EditorView, offer: Offer) => void): Command {
  return (view) => {
    const offer = view.state.field(offered);
    if (offer !== null) {
      act(view, offer);
    }
    return offer !== null;
  };
}

function drawn(view: EditorView): TooltipView {
  const dom = document.createElement("div");
  dom.className = "completions";
  const list = dom.appendChild(document.createElement("ul"));
  list.id = LIST;
  list.role = "listbox";
  list.ariaLabel = "What may be written here";
  const info = dom.appendChild(document.createElement("p"));
  const fill = (offer: Offer | null) => {
    list.replaceChildren(...(offer?.options ?? []).map((option, place) => entry(view, option, place, place === offer?.current)));
    info.textContent = offer?.options[offer.current]?.info ?? "";
    info.hidden = info.textContent === "";
  };
  fill(view.state.field(offered));
  return {
    dom,
    mount: () => { follow(list); },
    update: (update) => {
      fill(update.state.field(offered));
      follow(list);
    },
  };
}

function entry(view: EditorView, option: Option, place: number, isCurrent: boolean): HTMLElement {
  const made = document.createElement("li");
  made.id = `${LIST}-${place}`;
  made.role = "option";
  made.ariaSelected = String(isCurrent);
  made.textContent = option.label;
  made.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the cursor stays in the text
    const offer = view.state.field(offered);
    if (offer !== null) {
      view.dispatch(taken(view.state, offer, place));
    }
  });
  return made;
}

function follow(list: HTMLElement): void {
  list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
}
