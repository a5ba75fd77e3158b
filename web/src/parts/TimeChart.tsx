import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { stacked } from "./stacking";
import "./timechart.css";

const HEIGHT_PX = 200;
/** Half of the widest moment below the chart, so that the last one is whole. */
const BESIDE_PX = 36;
/** As wide as the widest moment below the chart, and a gap. */
const APART_PX = 76;

export type Series = { name: string; colour: string; values: (number | null)[] };

type Chart = {
  label: string;
  /** Seconds since 1970. */
  times: number[];
  series: Series[];
  /** Areas on top of each other instead of lines. */
  stack?: boolean;
  /** A line above the areas, such as how many there are. */
  bound?: Series;
  shown: (value: number) => string;
};

/** Lines or stacked areas over time, with a legend that tells the values under the pointer, or else the last ones. */
export function TimeChart({ label, times, series, stack = false, bound, shown }: Chart) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const [at, setAt] = useState<number | null>(null);
  const theme = useShownTheme();
  const drawn = useMemo(() => lines(series, bound, stack), [series, bound, stack]);
  const look = JSON.stringify(drawn.map((each) => [each.name, each.colour]));
  useEffect(() => {
    const box = place.current;
    if (box === null) {
      return;
    }
    const made = new uPlot(options(JSON.parse(look) as [string, string][], stack, box.clientWidth, setAt), [[]], box);
    chart.current = made;
    const resized = new ResizeObserver(() => {
      made.setSize({ width: box.clientWidth, height: HEIGHT_PX });
    });
    resized.observe(box);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [look, stack, theme]);
  useEffect(() => {
    chart.current?.setData([times, ...drawn.map((each) => each.values)]);
  }, [times, drawn, look, stack, theme]);
  const index = at ?? times.length - 1;
  const told = [...series, ...(bound ? [bound] : [])];
  return (
    <figure className="timechart">
      <div ref={place} role="img" aria-label={`${label} over time: ${said(told, index, shown)}`} />
      <figcaption>
        {told.map((each) => (
          <span key={each.name} className="key">
            <span className={each === bound ? "swatch line" : "swatch"} style={{ background: each.colour }} />
            {each.name} <b>{amount(each.values[index], shown)}</b>
          </span>
        ))}
        <span className="soft" title="The values are averages from then on">
          {at === null ? `since ${clock(times[index])}` : moment(times[index])}
        </span>
      </figcaption>
    </figure>
  );
}

function said(told: Series[], index: number, shown: (value: number) => string): string {
  return told.map((each) => `${each.name} ${amount(each.values[index], shown)}`).join(", ");
}

function amount(value: number | null | undefined, shown: (value: number) => string): string {
  return value === null || value === undefined ? "–" : shown(value);
}

function moment(seconds: number | undefined): string {
  return seconds === undefined
    ? ""
    : new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** Only the time of a moment of today, written as below the chart. */
function clock(seconds: number | undefined): string {
  const at = new Date((seconds ?? 0) * 1000);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? at.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }) : moment(seconds);
}

/** What lines beside a chart may be apart: half a GPU or half a job would not be told. */
const WHOLE = [0, 1, 2, 3, 4, 5, 6].flatMap((digits) => [1, 2, 5].map((first) => first * 10 ** digits));

const MINUTE_S = 60;
const DAY_S = 86_400;

/** A moment below the chart, as exact as the moments are apart, in the reader's zone and way of writing. */
function tick(seconds: number, apart: number): string {
  const at = new Date(seconds * 1000);
  if (apart >= DAY_S) {
    return at.toLocaleDateString(undefined, { month: "short", day: "numeric" });
  }
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return at.toLocaleTimeString(undefined, apart < MINUTE_S ? { ...clock, second: "2-digit" } : clock);
}

/** What is drawn, in this order: the highest area first, because each hides a part of the one before. */
function lines(series: Series[], bound: Series | undefined, stack: boolean): Series[] {
  const shown = stack ? stacked(series).reverse() : series;
  return bound ? [...shown, bound] : shown;
}

function options(
  look: [string, string][],
  stack: boolean,
  width: number,
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const [ink, edge] = ["--soft", "--edge"].map((name) => style.getPropertyValue(name).trim());
  const axis = { stroke: ink, grid: { stroke: edge, width: 1 }, ticks: { stroke: edge, width: 1 } };
  return {
    width,
    height: HEIGHT_PX,
    padding: [null, BESIDE_PX, null, null],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_chart, _low, high) => [0, Math.max(high * 1.05, 1)] } },
    axes: [
      { ...axis, space: APART_PX, values: (_chart, moments, _axis, _space, apart) => moments.map((each) => tick(each, apart)) },
      { ...axis, size: 44, incrs: WHOLE },
    ],
    series: [
      {},
      ...look.map(([label, stroke]) => ({
        label,
        stroke,
        width: stack ? 1 : 2,
        points: { show: false },
        ...(stack && label !== BOUND ? { fill: stroke } : {}),
      })),
    ],
    hooks: {
      setCursor: [
        (chart) => {
          onPoint(chart.cursor.idx ?? null);
        },
      ],
    },
  };
}

/** The name of the line that is drawn above the areas and is not filled. */
export const BOUND = "there are";

/** The theme of the page, so that a chart is drawn anew in its colours. */
function useShownTheme(): string {
  const [shown, setShown] = useState(() => document.documentElement.dataset["theme"] ?? "");
  useEffect(() => {
    const watching = new MutationObserver(() => {
      setShown(document.documentElement.dataset["theme"] ?? "");
    });
    watching.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      watching.disconnect();
    };
  }, []);
  return shown;
}
