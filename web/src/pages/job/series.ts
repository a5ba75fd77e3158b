import type { Schema } from "../../api/client";

/** Steps and values in order. A step that was done again has its newer value, and one that is no number a gap. */
export function series(measures: Schema["Measure"][], name: string): { x: number[]; y: (number | null)[] } {
  const byStep = new Map<number, number | null>();
  for (const each of measures) {
    const value = each.values[name];
    if (value !== undefined || each.no_numbers.includes(name)) {
      byStep.set(each.step, value ?? null);
    }
  }
  const x = [...byStep.keys()].sort((one, other) => one - other);
  return { x, y: x.map((step) => byStep.get(step) ?? null) };
}
