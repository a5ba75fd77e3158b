/** Amounts and times as people read them. */

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const UNITS: [number, string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** "3 d 4 h": the two largest units. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const first = UNITS.findIndex(([size]) => whole >= size);
  if (first < 0) {
    return "0 s";
  }
  const parts: string[] = [];
  let left = whole;
  for (const [size, name] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) {
      parts.push(`${count} ${name}`);
    }
  }
  return parts.join(" ");
}

/** "54 min": no seconds beside minutes, and rounded up, as in the sentences of the server that say when a job starts. */
export function roughDuration(seconds: number): string {
  const unit = seconds > DAY_S - MINUTE_S ? HOUR_S : seconds > MINUTE_S - 1 ? MINUTE_S : 1;
  return duration(unit * Math.ceil(seconds / unit));
}

/** GPUs with at most two digits behind the point: 8, 0.25. */
export function gpus(count: number): string {
  return String(Math.round(count * 100) / 100);
}

/** "1,234.50": a price, in whatever currency the prices of pools are. */
export function money(amount: number): string {
  return amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)} %` : "–";
}

/** "in 5 min" or "5 min ago". */
export function fromNow(moment: string, now: number): string {
  const seconds = (new Date(moment).getTime() - now) / 1000;
  if (Math.abs(seconds) < 1) {
    return "now";
  }
  return seconds > 0 ? `in ${roughDuration(seconds)}` : `${duration(-seconds)} ago`;
}

/** A short time as it is measured: 1.25 s, 34 ms. */
export function seconds(value: number): string {
  return value >= 1 ? `${value.toFixed(2)} s` : `${(value * 1000).toFixed(value < 0.01 ? 2 : 0)} ms`;
}

/** A value that was measured on a node, such as "81.3 GB" or "40 °C". What is counted says itself what it is. */
export function measured(value: number, unit: string): string {
  const plain = unit === "" || unit === "errors";
  return unit === "bytes" ? bytes(value) : `${value.toLocaleString()}${plain ? "" : ` ${unit}`}`;
}

const BYTES = ["B", "kB", "MB", "GB", "TB"];

/** "3.2 GB". */
export function bytes(count: number): string {
  let [value, unit] = [count, 0];
  while (value >= 1000 && unit < BYTES.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${BYTES[unit] ?? ""}`;
}
