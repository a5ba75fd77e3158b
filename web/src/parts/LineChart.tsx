import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import "./timechart.css";

const HEIGHT_PX = 220;
const DIGITS = 5;

type Line = { label: string; x: number[]; y: (number | null)[] };

/** One line over a number, with the value under the pointer, or else the last one. Thousands of points are no matter. */
export function LineChart({ label, x, y }: Line) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => {
    const box = place.current;
    if (box === null) {
      return;
    }
    const drawn = new uPlot(options(label, box.clientWidth, setAt), [[], []], box);
    chart.current = drawn;
    const resized = new ResizeObserver(() => {
      drawn.setSize({ width: box.clientWidth, height: HEIGHT_PX });
    });
    resized.observe(box);
    return () => {
      resized.disconnect();
      drawn.destroy();
    };
  }, [label]);
  useEffect(() => {
    chart.current?.setData([x, y]);
  }, [x, y, label]);
  const index = at ?? x.length - 1;
  return (
    <figure className="timechart">
      <div ref={place} role="img" aria-label={`${label} over steps, now ${y.at(-1) ?? "no number"}`} />
      <figcaption>
        <span>
          {label} <b>{y[index]?.toPrecision(DIGITS) ?? "–"}</b>
        </span>
        <span className="soft">step {x[index] ?? "–"}</span>
      </figcaption>
    </figure>
  );
}

function options(label: string, width: number, onPoint: (index: number | null) => void): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const [ink, edge, accent] = ["--soft", "--edge", "--accent"].map((name) => style.getPropertyValue(name).trim());
  const axis = { stroke: ink, grid: { stroke: edge, width: 1 }, ticks: { stroke: edge, width: 1 } };
  return {
    width,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false } },
    axes: [axis, axis],
    series: [{ label: "step" }, { label, stroke: accent, width: 2 }],
    hooks: {
      setCursor: [
        (chart) => {
          onPoint(chart.cursor.idx ?? null);
        },
      ],
    },
  };
}
