/** What may be written where, from the schema of the job file that the server sends. */

export type Schema = {
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  type?: string;
};

export type Option = { label: string; info: string };

/** The keys that enclose a line of block-style YAML, the outermost first. */
export function pathAt(lines: readonly string[], line: number): string[] {
  const path: string[] = [];
  let indent = indentOf(lines[line] ?? "");
  for (let above = line - 1; above >= 0 && indent > 0; above -= 1) {
    const text = lines[above] ?? "";
    const key = /^\s*([\w-]+):\s*(#.*)?$/.exec(text)?.[1];
    if (key !== undefined && indentOf(text) < indent) {
      path.unshift(key);
      indent = indentOf(text);
    }
  }
  return path;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The keys that may stand below these, or the words that a key may have. */
export function options(schema: Schema, path: readonly string[], key?: string): Option[] {
  const place = path.reduce<Schema | undefined>((found, step) => found?.properties?.[step], schema);
  if (key !== undefined) {
    const value = place?.properties?.[key];
    const words = value?.type === "boolean" ? ["true", "false"] : (value?.enum ?? []);
    return words.map((word) => ({ label: String(word), info: "" }));
  }
  return Object.entries(place?.properties ?? {}).map(([label, each]) => ({ label, info: each.description ?? "" }));
}
