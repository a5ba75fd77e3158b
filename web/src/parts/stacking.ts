type Values = { values: (number | null)[] };

/** Each series with all before it added to it. A gap stays a gap. */
export function stacked<T extends Values>(series: T[]): T[] {
  let below: (number | null)[] = [];
  return series.map((each) => {
    below = each.values.map((value, place) => (value === null ? null : value + (below[place] ?? 0)));
    return { ...each, values: below };
  });
}
