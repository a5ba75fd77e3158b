/** The lines that ranks have printed, within bounds, and where something is in them. */

import type { Printed } from "../../api/log";

export type Line = {
  /** Counts all lines that ever came, so that a line keeps its number when older ones are dropped. */
  number: number;
  rank: number;
  text: string;
};

export type LogBook = {
  lines: Line[];
  /** What a rank has begun to print and not ended yet. */
  open: ReadonlyMap<number, string>;
  /** Lines that were dropped because there were too many. */
  dropped: number;
};

export const EMPTY_BOOK: LogBook = { lines: [], open: new Map(), dropped: 0 };

const LINES = 20_000;
const LINE_CHARS = 4000;

/** The book with what was printed since. */
export function written(book: LogBook, parts: Printed[]): LogBook {
  const open = new Map(book.open);
  const came: { place: number; rank: number; text: string }[] = [];
  for (const { rank, text } of parts.toSorted((one, other) => one.rank - other.rank)) {
    const pieces = ((open.get(rank) ?? "") + text).split("\n");
    open.set(rank, (pieces.pop() ?? "").slice(-LINE_CHARS));
    // Lines have no times. Ranks do the same work, so lines that came together are taken to be evenly spread.
    pieces.forEach((piece, index) => came.push({ place: (index + 1) / pieces.length, rank, text: shown(piece) }));
  }
  came.sort((one, other) => one.place - other.place);
  const next = book.lines.length + book.dropped;
  const lines = [...book.lines, ...came.map(({ rank, text }, index) => ({ number: next + index, rank, text }))];
  const extra = Math.max(0, lines.length - LINES);
  return { lines: extra > 0 ? lines.slice(extra) : lines, open, dropped: book.dropped + extra };
}

/** All lines, with those that are not ended yet at the end. */
export function allLines(book: LogBook): Line[] {
  const next = book.lines.length + book.dropped;
  const open = [...book.open].filter(([, text]) => text !== "").sort(([one], [other]) => one - other);
  return [...book.lines, ...open.map(([rank, text], index) => ({ number: next + index, rank, text: shown(text) }))];
}

const ESCAPES = new RegExp("\\u001b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?|[@-Z\\\\^_])", "g");
const CONTROLS = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f]", "g");

/** A line as a terminal would leave it: without colours, and with what was written last over the same place. */
export function shown(line: string): string {
  const last = line.replace(/\r+$/, "").split("\r").at(-1) ?? "";
  const plain = last.replace(ESCAPES, "").replace(CONTROLS, "");
  return plain.length > LINE_CHARS ? `${plain.slice(0, LINE_CHARS)} … ${plain.length - LINE_CHARS} more` : plain;
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
