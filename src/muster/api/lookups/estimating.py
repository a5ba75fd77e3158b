"""When waiting jobs may start, as a user is told: corrected, bounded by promises, with what it rests on."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from muster.api.lookups.situation import Situation
from muster.core.order.run_times import ENOUGH
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.estimates.forward import ran_ms
from muster.estimates.starts import StartEstimate, possible_starts, summed_up
from muster.estimates.survival import KnownRuns, RunHistory
from muster.model.ids import JobId
from muster.model.job import RunningJob
from muster.model.limits import ESTIMATE_HORIZON_MS, ESTIMATE_RUNS
from muster.model.plan import Basis, EstimateBasis, Plan, Promise
from muster.model.policy import HOUR_MS
from muster.model.scenario import Scenario

FAR_MS = HOUR_MS
"""A promise further away than this is explained where it rests on limits that no user has set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What estimates of one situation rest on, besides promises."""

    basis: EstimateBasis
    runs: int = 0
    """So many jobs have ended whose run times count, at least, for each job that runs now."""
    are_alike: bool = True
    """True when these jobs are like the one that runs; false when for some they are all that have ended."""
    is_hinted: bool = True
    """True when every job whose own word counts gives its expected duration; a limit only bounds it."""

    @property
    def text(self) -> str:
        """The same in words."""
        match self.basis:
            case EstimateBasis.PROMISE:
                return "the promised start"
            case EstimateBasis.HISTORY if self.are_alike:
                return f"how long jobs like those that run now took, at least {self.runs} of each kind"
            case EstimateBasis.HISTORY:
                return f"how long the {self.runs} jobs took that have ended, which are not like all that run now"
            case EstimateBasis.LIMITS if self.is_hinted:
                return "what running jobs say about their length, as hardly any job has ended yet"
            case EstimateBasis.LIMITS:
                return f"little: {_few(self.runs)}, and running jobs say only how long they may run at most"
            case _:
                return f"little: {_few(self.runs)}, and running jobs do not say how long they may run"


def _few(runs: int) -> str:
    if not runs:
        return "hardly any job has ended yet"
    return f"only {runs} job{' has' if runs == 1 else 's have'} ended yet, which may be of other kinds"


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateRecord:
    """How the latest estimates on the same basis came true, of jobs that waited."""

    given: int = 0
    kept: int = 0
    """So many of them started by the time that nine in ten should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedStart:
    """An estimate as it is told."""

    start: StartEstimate
    grounds: Grounds
    record: EstimateRecord = field(default_factory=EstimateRecord)
    unlimited: int = 0
    """How many running jobs without a limit of their own a promise to this job waits for."""


class OutOfTime(Exception):
    """An estimate took too long."""


def estimated(situation: Situation, jobs: Sequence[JobId], *, within_s: float) -> dict[JobId, StartEstimate]:
    """Estimate starts from as many simulated futures as there is time for, up to `ESTIMATE_RUNS`.

    If there is not even time for one, only the jobs have an estimate that had started in it by then.
    """
    deadline_s = time.monotonic() + within_s

    def in_time(snapshot: Snapshot, now_ms: int) -> Plan:
        if time.monotonic() > deadline_s:
            raise OutOfTime
        return plan(snapshot, now_ms)

    begun: dict[JobId, int] = {}
    futures: list[dict[JobId, int]] = []
    played = possible_starts(
        situation.scenario,
        situation.run_times.copy(),
        jobs=jobs,
        seed=0,
        horizon_ms=ESTIMATE_HORIZON_MS,
        recent=situation.recent,
        planner=in_time,
        entitlements=situation.entitlements,
        begun=begun,
    )
    with suppress(OutOfTime):
        for future in islice(played, ESTIMATE_RUNS):
            futures.append(future)  # noqa: PERF402 - futures that were simulated before time was up count
    return summed_up(jobs, futures) if futures else summed_up(tuple(begun), (begun,))


def grounds_of(situation: Situation) -> Grounds:
    """What estimates of a situation rest on: run times that were learnt, or what running jobs say, or neither.

    This is what futures sample from (`FutureSample.left_ms`), for the running job of which least is known.
    """
    now_ms, running = situation.scenario.now_ms, situation.scenario.running
    history = RunHistory(situation.run_times.copy(), [(job.spec, ran_ms(job, now_ms)) for job in running])
    found = [_rest_of(job, now_ms, history.known(job.spec, ran_ms(job, now_ms))) for job in running]
    return min(found, key=_certainty, default=Grounds(basis=EstimateBasis.GUESS))


def _rest_of(job: RunningJob, now_ms: int, known: KnownRuns) -> Grounds:
    """What the sampled end of one running job rests on."""
    hint_ms, has_limit = job.spec.expected_duration_ms, job.spec.max_duration_ms is not None
    is_hinted = not known.is_enough and hint_ms is not None and hint_ms > ran_ms(job, now_ms)
    basis = EstimateBasis.LIMITS if is_hinted or has_limit else EstimateBasis.GUESS
    if not is_hinted and known.ended >= ENOUGH:
        basis = EstimateBasis.HISTORY
    return Grounds(basis=basis, runs=known.ended, are_alike=known.are_alike, is_hinted=is_hinted)


def _certainty(grounds: Grounds) -> tuple[int, bool, bool, int]:
    """How well founded an estimate is: the smaller, the less."""
    order = (EstimateBasis.GUESS, EstimateBasis.LIMITS, EstimateBasis.HISTORY)
    return order.index(grounds.basis), grounds.is_hinted, grounds.are_alike, grounds.runs


def within_promise(start: StartEstimate, grounds: Grounds, promise: Promise | None) -> tuple[StartEstimate, Grounds]:
    """The same estimate, but not later than the job was promised. Then it rests on the promise."""
    if promise is None or (start.p90_ms is not None and start.p90_ms <= promise.start_ms):
        return start, grounds
    p50_ms = promise.start_ms if start.p50_ms is None else min(start.p50_ms, promise.start_ms)
    return StartEstimate(p50_ms=p50_ms, p90_ms=promise.start_ms), Grounds(
        basis=EstimateBasis.PROMISE, runs=grounds.runs
    )


def unlimited_before(scenario: Scenario, promise: Promise | None) -> int:
    """How many running jobs without a limit of their own hold GPUs of nodes where a job is promised a start much later.

    The limit of their tier counts instead, which is far longer than most jobs run.
    """
    if promise is None or promise.basis is not Basis.LIMITS or promise.start_ms < scenario.now_ms + FAR_MS:
        return 0
    nodes = frozenset(promise.nodes)
    return sum(
        job.spec.max_duration_ms is None and any(worker.node in nodes for worker in job.workers)
        for job in scenario.running
    )
