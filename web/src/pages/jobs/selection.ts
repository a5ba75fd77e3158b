/** Which rows are chosen for what is done to several jobs at once. */

export type Selection = { chosen: ReadonlySet<string>; last: string | null };

export const NOTHING: Selection = { chosen: new Set(), last: null };

/** One row chosen, or not any more. */
export function toggled(selection: Selection, id: string): Selection {
  const chosen = new Set(selection.chosen);
  if (!chosen.delete(id)) {
    chosen.add(id);
  }
  return { chosen, last: id };
}

/** All rows from the last one that was touched to this one, as the last one is. */
export function extended(selection: Selection, id: string, shown: readonly string[]): Selection {
  const from = selection.last === null ? -1 : shown.indexOf(selection.last);
  const to = shown.indexOf(id);
  if (from < 0 || to < 0) {
    return toggled(selection, id);
  }
  const chosen = new Set(selection.chosen);
  const isOn = selection.last !== null && chosen.has(selection.last);
  for (const each of shown.slice(Math.min(from, to), Math.max(from, to) + 1)) {
    if (isOn) {
      chosen.add(each);
    } else {
      chosen.delete(each);
    }
  }
  return { chosen, last: id };
}

/** All that are shown; nothing when all are chosen already. */
export function allOrNothing(selection: Selection, shown: readonly string[]): Selection {
  return shown.every((id) => selection.chosen.has(id)) ? NOTHING : { chosen: new Set(shown), last: null };
}
