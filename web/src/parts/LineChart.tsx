import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

const HEIGHT_PX = 220;

type Line = { label: string; x: number[]; y: (number | null)[] };

/** One line over a number. Thousands of points are no matter. */
export function LineChart({ label, x, y }: Line) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  useEffect(() => {
    const box = place.current;
    if (box === null) {
      return;
    }
    const drawn = new uPlot(options(label, box.clientWidth), [[], []], box);
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
  return <div ref={place} role="img" aria-label={`${label} over steps, now ${y.at(-1) ?? "no number"}`} />;
}

function options(label: string, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const [ink, edge, accent] = ["--soft", "--edge", "--accent"].map((name) => style.getPropertyValue(name).trim());
  const axis = { stroke: ink, grid: { stroke: edge, width: 1 }, ticks: { stroke: edge, width: 1 } };
  return {
    width,
    height: HEIGHT_PX,
    scales: { x: { time: false } },
    axes: [axis, axis],
    series: [{ label: "step" }, { label, stroke: accent, width: 2 }],
  };
}
