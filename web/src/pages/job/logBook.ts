/** The lines that ranks have printed, within bounds, and where something is in them. */

import type { Printed } from "../../api/log";
import { unturned } from "../../words/direction";

export type Line = {
  /** Counts all lines that ever came, so that a line keeps its number when older ones are dropped. */
  number: number;
  rank: number;
  text: string;
};

/** A line as far as it is kept, and how many characters it has beyond. */
type Begun = { text: string; more: number };

export type LogBook = {
  lines: Line[];
  /** What a rank has begun to print and not ended yet. */
  open: ReadonlyMap<number, Begun>;
  /** Lines that were dropped because there were too many. */
  dropped: number;
};

export const EMPTY_BOOK: LogBook = { lines: [], open: new Map(), dropped: 0 };

const LINES = 20_000;
const LINE_CHARS = 4000;
const NO_LINE: Begun = { text: "", more: 0 };

/** The book with what was printed since. */
export function written(book: LogBook, parts: Printed[]): LogBook {
  const open = new Map(book.open);
  const came: { place: number; rank: number; text: string }[] = [];
  for (const { rank, text } of parts.toSorted((one, other) => one.rank - other.rank)) {
    const [first = "", ...others] = text.split("\n");
    const lines = [longer(open.get(rank) ?? NO_LINE, first), ...others.map((each) => longer(NO_LINE, each))];
    open.set(rank, lines.pop() ?? NO_LINE);
    // Lines have no times. Ranks do the same work, so lines that came together are taken to be evenly spread.
    lines.forEach((line, index) => came.push({ place: (index + 1) / lines.length, rank, text: shown(line.text, line.more) }));
  }
  came.sort((one, other) => one.place - other.place);
  const next = book.lines.length + book.dropped;
  const lines = [...book.lines, ...came.map(({ rank, text }, index) => ({ number: next + index, rank, text }))];
  const extra = Math.max(0, lines.length - LINES);
  return { lines: extra > 0 ? lines.slice(extra) : lines, open, dropped: book.dropped + extra };
}

/** The line with what was printed after it. Of an endless one the beginning is kept, from the last return on. */
function longer({ text, more }: Begun, added: string): Begun {
  const joined = more === 0 ? text + added : added;
  if (more === 0 && joined.length <= LINE_CHARS) {
    return { text: joined, more };
  }
  const last = joined.slice(joined.replace(/\r+$/, "").lastIndexOf("\r") + 1);
  return more === 0 || last !== joined
    ? { text: last.slice(0, LINE_CHARS), more: Math.max(0, last.length - LINE_CHARS) }
    : { text, more: more + added.length };
}

/** All lines, with those that are not ended yet at the end. */
export function allLines(book: LogBook): Line[] {
  const next = book.lines.length + book.dropped;
  const open = [...book.open].filter(([, { text }]) => text !== "").sort(([one], [other]) => one - other);
  return [...book.lines, ...open.map(([rank, { text, more }], index) => ({ number: next + index, rank, text: shown(text, more) }))];
}

const ESCAPES = new RegExp("\\u001b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?|[@-Z\\\\^_])", "g");
const CONTROLS = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f]", "g");

/**
 * A line as a terminal would leave it: without colours, and with what was written last over the same place. `more` is
 * how many characters it has that were not kept.
 */
export function shown(line: string, more = 0): string {
  const last = line.replace(/\r+$/, "").split("\r").at(-1) ?? "";
  const plain = unturned(last.replace(ESCAPES, "").replace(CONTROLS, ""));
  const left = Math.max(0, plain.length - LINE_CHARS) + more;
  return left > 0 ? `${plain.slice(0, LINE_CHARS)} … ${left.toLocaleString()} more` : plain;
}

/** The places of the lines that say this, whatever its case. */
export function places(lines: Line[], wanted: string): number[] {
  const text = wanted.toLowerCase();
  return text === "" ? [] : lines.flatMap((line, place) => (line.text.toLowerCase().includes(text) ? [place] : []));
}

/** A text in parts: every second one is what was looked for. */
export function cut(text: string, wanted: string): string[] {
  if (wanted === "") {
    return [text];
  }
  const [lower, part] = [text.toLowerCase(), wanted.toLowerCase()];
  const found: string[] = [];
  let from = 0;
  // Where lower case has another length, places would be wrong, so that nothing is marked.
  for (let at = lower.length === text.length ? lower.indexOf(part) : -1; at >= 0; at = lower.indexOf(part, from)) {
    found.push(text.slice(from, at), text.slice(at, at + part.length));
    from = at + part.length;
  }
  return [...found, text.slice(from)];
}
