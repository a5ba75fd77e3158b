import type { Queue } from "../../api/client";
import { Bar } from "../../parts/Loaded";
import { gpus, percent } from "../../words/amounts";

/** How busy each kind of GPU is now. */
export function Figures({ queue }: { queue: Queue }) {
  return (
    <div className="grid" data-testid="utilisation">
      {Object.entries(queue.gpus).map(([type, count]) => (
        <section className="sheet" key={type}>
          <h2>{type === "any" ? "GPUs" : type} in use</h2>
          <div className="figure">{percent(count.used, count.total)}</div>
          <Bar part={count.used} whole={count.total} label={`${type} in use`} />
          <span className="soft small">
            {gpus(count.used)} of {count.total}
          </span>
        </section>
      ))}
      <section className="sheet">
        <h2>Jobs</h2>
        <div className="figure">
          {queue.running} <span className="soft small">running</span>
        </div>
        <div className="figure">
          {queue.waiting} <span className="soft small">waiting</span>
        </div>
      </section>
    </div>
  );
}
