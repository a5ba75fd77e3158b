import { Link } from "@tanstack/react-router";

import type { Problem } from "../../api/client";
import { Effects } from "../../parts/Effects";
import { Explanation } from "../../parts/Explanation";
import { gpus, money } from "../../words/amounts";
import { byNode } from "./placement";
import type { Checked, DryRun } from "./queries";

type OutcomeOf = { checked: Checked | undefined; failure: Error | null; isStale: boolean };

/** What would happen to the job if it were submitted now, in the server's words. */
export function Outcome({ checked, failure, isStale }: OutcomeOf) {
  return (
    <section className={isStale ? "sheet outcome stale" : "sheet outcome"} aria-label="What would happen" aria-live="polite">
      <h2>What would happen</h2>
      {failure ? (
        <p className="tone-bad">{failure.message}</p>
      ) : checked === undefined ? (
        <p className="soft">Asking the server…</p>
      ) : checked.problem ? (
        <Mistakes problem={checked.problem} />
      ) : (
        <Would would={checked.would} />
      )}
    </section>
  );
}

function Mistakes({ problem }: { problem: Problem }) {
  if (problem.fields.length === 0) {
    return (
      <p className="notice bad" data-testid="job-problem">
        {problem.message}
      </p>
    );
  }
  return (
    <ul className="notice bad" data-testid="job-problem">
      {problem.fields.map((error, place) => (
        <li key={place}>
          {error.line != null && <span className="soft">Line {error.line}: </span>}
          {error.field && <code>{error.field}</code>} {error.problem}
          {error.hint && <div className="soft">{error.hint}</div>}
        </li>
      ))}
    </ul>
  );
}

function Would({ would }: { would: DryRun }) {
  const { gpu_hours, price } = would.cost;
  return (
    <div data-testid="dry-run">
      {would.placement ? <p className="tone-good">{would.headline}</p> : <Explanation of={would} />}
      <dl className="facts">
        {would.placement && <Fact name="Nodes" value={byNode(would.placement).join(", ")} />}
        <Fact name="GPU hours at most" value={gpus(gpu_hours)} />
        {price !== null && <Fact name={would.placement ? "Price at most" : "Price at most, in the cheapest pool"} value={money(price)} />}
      </dl>
      <Victims would={would} />
      <Effects of={would.admission} would />
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Victims({ would }: { would: DryRun }) {
  if (would.preempts.length === 0 && would.preempts_others === 0) {
    return null;
  }
  return (
    <div className="notice">
      These jobs would save themselves and leave for it:
      <ul>
        {would.preempts.map((victim) => (
          <li key={victim.job}>
            <Link to="/jobs/$job" params={{ job: victim.job }}>
              {victim.name} {victim.job}
            </Link>
            , {victim.team}, {gpus(victim.gpus)} GPUs
          </li>
        ))}
        {would.preempts_others > 0 && <li>{would.preempts_others} of teams that you do not see</li>}
      </ul>
    </div>
  );
}
