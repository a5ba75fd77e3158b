"""When waiting jobs will start: half of the time by `p50`, nine times in ten by `p90`.

The present situation is simulated several times with different samples, and the starts are counted. Estimates are never
used for promises, which rest on limits alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice

from muster.core.order.entitlements import Entitlements
from muster.core.order.run_times import RunTimes
from muster.core.planning import plan
from muster.engine.decisions import Planner
from muster.estimates.forward import Future, ran_ms
from muster.estimates.sampling import Arrival, FutureSample
from muster.estimates.survival import RunHistory
from muster.estimates.training import Habits
from muster.model.ids import JobId
from muster.model.scenario import Scenario

RECENT_ARRIVALS = 1_000
"""Submissions from which arrivals are sampled: a day of a busy cluster, so that nights are included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEstimate:
    """Two quantiles of one job's start; None means beyond the horizon."""

    p50_ms: int | None
    p90_ms: int | None


def estimate_starts(
    scenario: Scenario,
    run_times: RunTimes,
    *,
    jobs: Iterable[JobId],
    runs: int,
    seed: int,
    horizon_ms: int,
    recent: Sequence[Arrival] = (),
    planner: Planner = plan,
    habits: Habits | None = None,
    entitlements: Entitlements | None = None,
) -> dict[JobId, StartEstimate]:
    """Estimate when these waiting jobs start, looking `horizon_ms` ahead in `runs` possible futures.

    `recent` are the latest submissions, in the order of time. Without them no other job arrives. `entitlements` are
    what jobs were due until now. Without them turns go by GPU time alone. Jobs that do not wait in the scenario, or may
    not start, get estimates beyond the horizon.
    """
    asked = tuple(dict.fromkeys(jobs))
    played = possible_starts(
        scenario,
        run_times,
        jobs=asked,
        seed=seed,
        horizon_ms=horizon_ms,
        recent=recent,
        planner=planner,
        habits=habits,
        entitlements=entitlements,
    )
    return summed_up(asked, tuple(islice(played, runs)))


def possible_starts(
    scenario: Scenario,
    run_times: RunTimes,
    *,
    jobs: Iterable[JobId],
    seed: int,
    horizon_ms: int,
    recent: Sequence[Arrival] = (),
    planner: Planner = plan,
    habits: Habits | None = None,
    entitlements: Entitlements | None = None,
    begun: dict[JobId, int] | None = None,
) -> Iterator[dict[JobId, int]]:
    """When these jobs start in one possible future after another, without end; jobs that start too late are missing.

    A caller can stop when its time is up: the futures simulated until then still give an estimate. `begun` has what was
    found so far in the future that is being simulated.
    """
    asked = dict.fromkeys(jobs)
    until_ms = scenario.now_ms + horizon_ms
    history = RunHistory(run_times, [(job.spec, ran_ms(job, scenario.now_ms)) for job in scenario.running])
    for number in count():
        sample = FutureSample(history, f"future {seed} {number}")
        newcomers = sample.newcomers(recent[-RECENT_ARRIVALS:], scenario.now_ms)
        future = Future(
            scenario, sample, newcomers, planner=planner, habits=habits or Habits(), entitlements=entitlements
        )
        found = {} if begun is None else begun
        found.clear()
        future.first_starts(asked, until_ms, found)
        yield dict(found)


def summed_up(jobs: Iterable[JobId], futures: Sequence[Mapping[JobId, int]]) -> dict[JobId, StartEstimate]:
    """The quantiles of each job's start over some futures."""
    runs = len(futures)
    starts = {job: [future[job] for future in futures if job in future] for job in jobs}
    return {
        job: StartEstimate(p50_ms=_quantile(found, 50, runs), p90_ms=_quantile(found, 90, runs))
        for job, found in starts.items()
    }


def _quantile(found: list[int], percent: int, runs: int) -> int | None:
    """The nearest-rank quantile over all futures, including those in which the job did not start."""
    rank = max(-(-runs * percent // 100) - 1, 0)
    return sorted(found)[rank] if rank < len(found) else None
