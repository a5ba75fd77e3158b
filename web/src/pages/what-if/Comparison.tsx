import { duration } from "../../words/amounts";
import type { Figures } from "./queries";

type Figure = { name: string; of: (figures: Figures) => number | null; words: (value: number) => string; better: -1 | 0 | 1 };

const share = (value: number) => `${(100 * value).toFixed(1)} %`;
const count = (value: number) => value.toLocaleString();

const FIGURES: Figure[] = [
  { name: "Jobs that finish", of: (each) => each.finished, words: count, better: 1 },
  { name: "Jobs that do not", of: (each) => each.unfinished, words: count, better: -1 },
  { name: "Jobs that could never run", of: (each) => each.rejected, words: count, better: -1 },
  { name: "Wait, mean", of: (each) => each.wait_mean_s, words: duration, better: -1 },
  { name: "Wait, half of them at most", of: (each) => each.wait_p50_s, words: duration, better: -1 },
  { name: "Wait, 99 of 100 at most", of: (each) => each.wait_p99_s, words: duration, better: -1 },
  { name: "From submission to end, mean", of: (each) => each.completion_mean_s, words: duration, better: -1 },
  { name: "Until all have ended", of: (each) => each.makespan_s, words: duration, better: -1 },
  { name: "GPUs in use", of: (each) => each.utilisation, words: share, better: 0 },
  { name: "GPU time that counted", of: (each) => each.goodput, words: share, better: 1 },
  { name: "Preemptions per job", of: (each) => each.preemptions_per_job, words: (value) => value.toFixed(3), better: -1 },
  { name: "GPU time lost", of: (each) => each.lost, words: share, better: -1 },
];

/** The figures of today beside those of what was asked. What is better has a mark and a word. */
export function Comparison({ today, changed }: { today: Figures; changed: Figures }) {
  const teams = Object.keys(today.wait_mean_by_team_s).sort();
  const waits = teams.map(
    (team): Figure => ({
      name: `Wait of ${team}, mean`,
      of: (each) => each.wait_mean_by_team_s[team] ?? null,
      words: duration,
      better: -1,
    }),
  );
  return (
    <table data-testid="comparison">
      <thead>
        <tr>
          <th />
          <th className="number">Today</th>
          <th className="number">What if</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {[...FIGURES, ...waits].map((figure) => (
          <Row key={figure.name} figure={figure} before={figure.of(today)} after={figure.of(changed)} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ figure, before, after }: { figure: Figure; before: number | null; after: number | null }) {
  const written = (value: number | null) => (value === null ? "–" : figure.words(value));
  const gain = before === null || after === null ? 0 : Math.sign(after - before) * figure.better;
  const differs = written(before) !== written(after);
  return (
    <tr>
      <td>{figure.name}</td>
      <td className="number">{written(before)}</td>
      <td className="number">{written(after)}</td>
      <td className={gain > 0 ? "tone-good" : "tone-bad"}>
        {differs && gain !== 0 && (
          <>
            {gain > 0 ? "▲" : "▼"}
            <span className="wide-only"> {gain > 0 ? "better" : "worse"}</span>
          </>
        )}
      </td>
    </tr>
  );
}
