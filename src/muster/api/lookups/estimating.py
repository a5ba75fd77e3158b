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
from muster.estimates.starts import StartEstimate, possible_starts, summed_up
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
    """As many runs are known, at least, of jobs like each that runs now."""

    @property
    def text(self) -> str:
        """The same in words."""
        match self.basis:
            case EstimateBasis.PROMISE:
                return "the promised start"
            case EstimateBasis.HISTORY:
                return f"how long jobs like those that run now took, at least {self.runs} of each kind"
            case EstimateBasis.LIMITS:
                return "what running jobs say about their length, as hardly any job has ended yet"
            case _:
                return "little: hardly any job has ended yet, and running jobs do not say how long they may run"


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
    """What estimates of a situation rest on: run times that were learnt, or what running jobs say, or neither."""
    running = situation.scenario.running
    runs = min((situation.run_times.usual(job.spec).runs for job in running), default=0)
    if runs >= ENOUGH:
        return Grounds(basis=EstimateBasis.HISTORY, runs=runs)
    is_said = bool(running) and all(_says_its_length(job) for job in running)
    return Grounds(basis=EstimateBasis.LIMITS if is_said else EstimateBasis.GUESS, runs=runs)


def _says_its_length(job: RunningJob) -> bool:
    return job.spec.max_duration_ms is not None or job.spec.expected_duration_ms is not None


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
