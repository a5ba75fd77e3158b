/**
 * The job file as text is the one document. The form shows some of its values, and edits them in place: comments, the
 * order of keys, and keys that the form does not know stay.
 */

import { parseDocument, YAMLMap } from "yaml";

export type Path = readonly string[];

/** Written as people write it: `{gpus: 8}`, and lines as long as they are. */
const PLAIN = { flowCollectionPadding: false, lineWidth: 0 };

/** A small job of a team, to begin with. */
export const blank = (team: string): string => `name: train
team: ${team}
workers: 1
resources: {gpus: 1}
max_duration: 1h
run: |
  python train.py
`;

/** The team to begin with: the first in which one has a role. Whoever has one everywhere begins with what a file without a team has. */
export function ownTeam(bindings: readonly { team: string }[]): string {
  return bindings.find(({ team }) => team !== "*")?.team ?? "default";
}

/** The value at a path as the form shows it; empty when there is none, or when the text cannot be read. */
export function shownAt(text: string, path: Path): string {
  const value: unknown = parseDocument(text).getIn(path);
  if (value === undefined || value === null) {
    return "";
  }
  if (isList(value)) {
    return (value.toJSON() as unknown[]).map(String).join(", ");
  }
  const isScalar = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isScalar ? String(value).replace(/\n$/, "") : "";
}

function isList(value: unknown): value is { toJSON: () => unknown } {
  return Array.isArray((value as { items?: unknown }).items) && !(value instanceof YAMLMap);
}

/** Whether the form can edit the text: a mapping without mistakes in its writing. */
export function isEditable(text: string): boolean {
  const document = parseDocument(text);
  return document.errors.length === 0 && (document.contents === null || document.contents instanceof YAMLMap);
}

/** The text with another value at a path. An empty value takes the key away, and its parent when nothing else is in it. */
export function changedAt(text: string, path: Path, value: string, kind: "text" | "list" = "text"): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    return text;
  }
  if (value === "") {
    document.deleteIn(path);
    removeEmpty(document, path.slice(0, -1));
    return document.toString(PLAIN);
  }
  if (!(document.contents instanceof YAMLMap)) {
    document.contents = document.createNode({}) as unknown as typeof document.contents;
  }
  const parts = kind === "list" ? value.split(",").map((part) => part.trim()) : [];
  const given = parts.filter((part) => part !== "");
  document.setIn(path, given.length > 1 ? document.createNode(given, { flow: true }) : scalar(given[0] ?? value));
  return document.toString(PLAIN);
}

function removeEmpty(document: ReturnType<typeof parseDocument>, path: Path): void {
  const parent: unknown = path.length > 0 ? document.getIn(path) : undefined;
  if (parent instanceof YAMLMap && parent.items.length === 0) {
    document.deleteIn(path);
  }
}

/** A number where it is written like one. Everything else is text. */
function scalar(value: string): string | number {
  if (value.includes("\n")) {
    return value.endsWith("\n") ? value : `${value}\n`;
  }
  return /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}
