"""Why a job waits, when it may start, and dry runs of job files: answers that take a while.

They are computed on one separate thread, from a copy of the situation that the writer hands over, so that neither the
writer nor other requests wait for them. One answer serves all callers until it is outdated.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

from muster.api.lookups.estimate_history import EstimateHistory
from muster.api.lookups.records import Records
from muster.core.explaining.explain import Explanation, with_place
from muster.core.explaining.place_in_tier import PlacesInTier, RecentJob, ServiceHistory
from muster.core.lifecycle.arrays import tasks_of
from muster.core.offline import Decision, Rejection, decide, explain_decided
from muster.core.order.entitlements import Entitlements
from muster.core.order.run_times import RunTimes
from muster.core.order.service import band_of
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.engine.engine import Engine
from muster.engine.folding.state import State
from muster.estimates.sampling import Arrival
from muster.estimates.starts import RECENT_ARRIVALS, StartEstimate, possible_starts, summed_up
from muster.live.control_plane import ControlPlane
from muster.model.array import ArrayRecord, JobRecord
from muster.model.errors import TooMany
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.limits import (
    ESTIMATE_FRESH_MS,
    ESTIMATE_HORIZON_MS,
    ESTIMATE_PAUSE_MS,
    ESTIMATE_RUNS,
    ESTIMATE_S,
    EXPLAINED_FRESH_MS,
    EXPLAINED_MS,
    QUESTIONS,
    STARVED_BAND,
)
from muster.model.plan import Plan, Reason
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from muster.store.base import JobFilter

T = TypeVar("T")

HISTORY_MS = HOUR_MS
"""Submissions of a shorter time than this are not used to predict future ones: a burst does not last for ever."""

NO_PLACE = 0
"""Stands for the place in the queue of a job that could never start."""

CANDIDATE = JobId("~candidate")
"""The id of the job in a dry run. Among equal jobs it sorts last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The copy of the state that the writer hands over."""

    version: int
    scenario: Scenario
    run_times: RunTimes
    """Shared with the writer, which still changes it: copied before a long read."""
    entitlements: Entitlements
    """A copy, since entitlements change with every job that arrives or ends."""
    decided: Plan | None = None
    """The plan of the last cycle; None before the first."""
    starves_ms: Mapping[JobId, int] = field(default_factory=dict)
    """When waiting jobs will count as starved."""
    recent: tuple[Arrival, ...] = ()

    @property
    def history(self) -> ServiceHistory:
        """What explanations need besides the scenario."""
        recent = tuple([RecentJob(each.submitted_ms, each.spec, each.gpu_ms) for each in self.recent])
        return ServiceHistory(self.starves_ms, recent)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedJob:
    """The result of a dry run."""

    decision: Decision
    estimate: StartEstimate | None


class OutOfTime(Exception):
    """An estimate took too long."""


class Explanations:
    """Computes explanations, estimates and dry runs, one after another."""

    def __init__(self, control: ControlPlane, records: Records) -> None:
        self._control = control
        self._records = records
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="explanations")
        self._waiting = 0
        self._explaining = asyncio.Lock()
        self._explained: dict[JobId, Explanation] = {}
        self._places: PlacesInTier | None = None
        """Of the jobs whose explanation does not tell about their place yet."""
        self._placed: dict[JobId, Explanation] = {}
        """Explanations that do."""
        self._explained_at: tuple[int, int] | None = None
        """The version and the time of the last explanation."""
        self._estimates: dict[JobId, tuple[int, int, StartEstimate]] = {}
        """Each with the version and the time at which it was made."""
        self._record = EstimateHistory()
        self._tries_again_ms = 0
        """No estimate is tried before this time, because the last one took too long."""

    def close(self) -> None:
        """Stop computing answers."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def explanation(self, job: JobId, now_ms: int) -> Explanation | None:
        """Why a job waits; None when it does not wait, or was not considered yet."""
        async with self._explaining:
            version = self._control.view.version
            if self._explained_at is None or not _is_fresh(self._explained_at, version, now_ms):
                situation = await self._situation()
                decision = await self._worked_out(lambda: _explained(situation))
                self._explained = {each.job: each for each in decision.explanations}
                self._explained |= {each.job: _in_vain(each) for each in decision.rejected}
                self._places, self._placed = decision.places, {}
                self._explained_at = (situation.version, now_ms)
                self._estimates = {job: made for job, made in self._estimates.items() if job in self._explained}
            explained, places = self._explained.get(job), self._places
            if explained is not None and job not in self._placed:
                self._placed[job] = await self._worked_out(lambda: with_place(explained, places))
        return self._placed.get(job)

    async def estimate(self, job: JobId, now_ms: int) -> StartEstimate | None:
        """When a waiting job starts; None when no future could be simulated in time."""
        known = self._estimates.get(job)
        if known is not None and (known[0] == self._control.view.version or now_ms < known[1] + ESTIMATE_FRESH_MS):
            return known[2]
        if now_ms < self._tries_again_ms:
            return None
        situation = await self._situation()
        found = await self._worked_out(lambda: _estimate(situation, job))
        if found is None:
            self._tries_again_ms = now_ms + ESTIMATE_PAUSE_MS
            return None
        told = await self._told(situation, found)
        self._remember(situation, job, found)
        self._estimates[job] = (situation.version, now_ms, told)
        return told

    async def _told(self, situation: Situation, raw: StartEstimate) -> StartEstimate:
        """An estimate, corrected by what earlier estimates taught."""
        self._record.learn(await self._records.find_all(self._record.open))
        scenario = situation.scenario
        return self._record.corrected(raw, waiting=len(scenario.waiting), now_ms=scenario.now_ms)

    def _remember(self, situation: Situation, job: JobId, raw: StartEstimate) -> None:
        """Remember the estimate if the job never ran. A job that ran before waits for other things and is skipped."""
        known = self._control.view.jobs.get(job)
        if known is not None and known.first_started_ms is None:
            scenario = situation.scenario
            self._record.remember(job, raw, waiting=len(scenario.waiting), now_ms=scenario.now_ms)

    async def tried_job(self, spec: JobSpec, unmet: tuple[JobId, ...]) -> TriedJob:
        """What would happen to a job if it were submitted now."""
        situation = await self._situation()
        scenario = situation.scenario
        candidate = WaitingJob(id=CANDIDATE, spec=spec, submitted_ms=scenario.now_ms, unmet=unmet)
        tried = replace(situation, scenario=evolve(scenario, waiting=(*scenario.waiting, candidate)))
        job = await self._worked_out(lambda: _tried_job(tried))
        return job if job.estimate is None else replace(job, estimate=await self._told(tried, job.estimate))

    async def _situation(self) -> Situation:
        if self._control.has_stopped:  # then the state does not change any more
            return _handed_over(self._control.state, self._control.view.now_ms)
        situation = await asyncio.wrap_future(self._control.ask(_hand_over))
        return replace(situation, recent=await self._recent(situation.scenario.now_ms))

    async def _recent(self, now_ms: int) -> tuple[Arrival, ...]:
        """Recent submissions, oldest first; empty when they span too short a time to predict future ones."""
        page = await self._records.ask(lambda archive: archive.page(JobFilter(), limit=RECENT_ARRIVALS))
        arrivals = [arrival for record in page.jobs for arrival in _arrivals(record)][:RECENT_ARRIVALS]
        is_telling = bool(arrivals) and now_ms - arrivals[-1].submitted_ms >= HISTORY_MS
        return tuple(reversed(arrivals)) if is_telling else ()

    async def _worked_out(self, answer: Callable[[], T]) -> T:
        if self._waiting >= QUESTIONS:
            raise TooMany(f"{self._waiting} questions wait already; ask again in a moment")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, answer)
        finally:
            self._waiting -= 1


def _in_vain(rejection: Rejection) -> Explanation:
    """Why an admitted job would not be admitted now: the cluster or the rules have changed since."""
    reason = Reason(
        code=rejection.code, message=rejection.message, would_help="a change of the cluster or the quotas, or cancel it"
    )
    return Explanation(job=rejection.job, position=NO_PLACE, reasons=(reason,), p50_ms=None, p90_ms=None)


def _is_fresh(explained: tuple[int, int], version: int, now_ms: int) -> bool:
    """True for `EXPLAINED_MS`, or for `EXPLAINED_FRESH_MS` while nothing has changed."""
    is_same = explained[0] == version and now_ms < explained[1] + EXPLAINED_FRESH_MS
    return is_same or now_ms < explained[1] + EXPLAINED_MS


def _hand_over(engine: Engine, now_ms: int) -> Situation:
    return replace(_handed_over(engine.state, now_ms), decided=engine.last_plan)


def _handed_over(state: State, now_ms: int) -> Situation:
    snapshot = state.snapshot
    return Situation(
        version=state.version,
        scenario=snapshot.scenario(now_ms),
        run_times=snapshot.run_times,
        entitlements=snapshot.entitlements.copy(),
        starves_ms=_starves_ms(state, now_ms),
    )


def _starves_ms(state: State, now_ms: int) -> dict[JobId, int]:
    """When waiting jobs count as starved, for those to which it makes a difference."""
    if state.starvation is None:
        return {}
    late = [
        job.id
        for job in state.snapshot.queue.jobs.values()
        if band_of(job.attained_gpu_ms, starved=False) > STARVED_BAND
    ]
    times = {job: state.starvation.starves_ms(state.jobs[job], now_ms) for job in late}
    return {job: at_ms for job, at_ms in times.items() if at_ms is not None}


def _arrivals(record: JobRecord) -> list[Arrival]:
    """A job, or each task of an array."""
    if not isinstance(record, ArrayRecord):
        return [Arrival(submitted_ms=record.submitted_ms, spec=record.spec, gpu_ms=record.attained_gpu_ms)]
    single = evolve(record.spec, array=None)
    return [Arrival(submitted_ms=record.submitted_ms, spec=single)] * len(tasks_of(record))


def _explained(situation: Situation) -> Decision:
    """Why jobs wait, according to the plan of the last cycle."""
    if situation.decided is None:
        return decide(situation.scenario, situation.entitlements, situation.history)
    return explain_decided(situation.scenario, situation.entitlements, situation.decided, situation.history)


def _tried_job(situation: Situation) -> TriedJob:
    decision = decide(situation.scenario, situation.entitlements, situation.history)
    told = tuple([with_place(each, decision.places) for each in decision.explanations if each.job == CANDIDATE])
    return TriedJob(
        decision=replace(decision, explanations=told),
        estimate=_estimate(situation, CANDIDATE) if told else None,
    )


def _estimate(situation: Situation, job: JobId) -> StartEstimate | None:
    """Estimate a start from as many simulated futures as there is time for, up to `ESTIMATE_RUNS`."""
    deadline_s = time.monotonic() + ESTIMATE_S

    def in_time(snapshot: Snapshot, now_ms: int) -> Plan:
        if time.monotonic() > deadline_s:
            raise OutOfTime
        return plan(snapshot, now_ms)

    futures: list[dict[JobId, int]] = []
    played = possible_starts(
        situation.scenario,
        situation.run_times.copy(),
        jobs=(job,),
        seed=0,
        horizon_ms=ESTIMATE_HORIZON_MS,
        recent=situation.recent,
        planner=in_time,
        entitlements=situation.entitlements,
    )
    with suppress(OutOfTime):
        for future in islice(played, ESTIMATE_RUNS):
            futures.append(future)  # noqa: PERF402 - futures that were simulated before time was up count
    return summed_up((job,), futures)[job] if futures else None
