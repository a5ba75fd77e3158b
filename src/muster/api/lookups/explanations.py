"""Why a job waits, when it may start, and dry runs of job files: answers that take a while.

They are computed on one separate thread, from a copy of the situation that the writer hands over, so that neither the
writer nor other requests wait for them. One answer serves all callers until it is outdated.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from muster.api.lookups.estimate_file import EstimateFile
from muster.api.lookups.estimate_history import EstimateHistory
from muster.api.lookups.estimating import (
    EstimatedStart,
    Grounds,
    estimated,
    grounds_of,
    unlimited_before,
    within_promise,
)
from muster.api.lookups.records import Records
from muster.api.lookups.situation import Situation, arrivals_of, hand_over, handed_over
from muster.core.explaining.earliest import earliest_starts
from muster.core.explaining.explain import Explanation, place_at
from muster.core.explaining.growth import why_no_larger
from muster.core.offline import Decision, Rejection, decide, explain_decided
from muster.core.snapshot import Snapshot
from muster.estimates.sampling import Arrival
from muster.estimates.starts import RECENT_ARRIVALS, StartEstimate
from muster.live.leadership.reading import Readable
from muster.model.array import ArrayRecord, JobRecord
from muster.model.errors import TooMany
from muster.model.ids import JobId
from muster.model.job import Job, JobState, WaitingJob
from muster.model.limits import (
    ESTIMATE_FRESH_MS,
    ESTIMATE_PAUSE_MS,
    ESTIMATE_S,
    ESTIMATES_S,
    EXPLAINED_FRESH_MS,
    EXPLAINED_MS,
    QUESTIONS,
)
from muster.model.plan import Promise, Reason
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec
from muster.store.base import JobFilter

T = TypeVar("T")

HISTORY_MS = HOUR_MS
"""Submissions of a shorter time than this are not used to predict future ones: a burst does not last for ever."""

UNASKED_S = 1.0
"""How long an estimate may compute for which no user waits."""

NO_PLACE = 0
"""Stands for the place in the queue of a job that could never start."""

CANDIDATE = JobId("~candidate")
"""The id of the job in a dry run. Among equal jobs it sorts last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedJob:
    """The result of a dry run."""

    decision: Decision
    raw: Mapping[JobId, StartEstimate]
    """The estimate of the candidate as futures gave it, if it was considered and there was time."""
    estimate: EstimatedStart | None = None


class Explanations:
    """Computes explanations, estimates and dry runs, one after another."""

    def __init__(self, control: Readable, records: Records, kept: Path | None = None) -> None:
        """`kept` is the file in which given estimates outlive a restart; without it they do not."""
        self._control = control
        self._records = records
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="explanations")
        self._waiting = 0
        self._explaining = asyncio.Lock()
        self._explained: dict[JobId, Explanation] = {}
        self._decision: Decision | None = None
        """What the explanations were made from."""
        self._in_full: dict[JobId, Explanation] = {}
        """Explanations of jobs that a user asked about."""
        self._explained_at: tuple[int, int] | None = None
        """The version and the time of the last explanation."""
        self._estimates: dict[JobId, tuple[int, int, EstimatedStart]] = {}
        """Each with the version and the time at which it was made."""
        self._estimating = asyncio.Lock()
        self._starts: dict[JobId, EstimatedStart] = {}
        """The latest estimates of all jobs."""
        self._estimated_at: tuple[int, int] | None = None
        self._sizes: dict[JobId, tuple[tuple[int, int], str | None]] = {}
        """Why running elastic jobs are not larger, as it was found lately."""
        self._file = EstimateFile(kept)
        self._history = EstimateHistory(self._file.read())
        self._tries_again_ms = 0
        """No estimate is tried before this time, because the last one took too long."""

    def close(self) -> None:
        """Stop computing answers, and keep the estimates that were given."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._file.write(self._history.given)

    async def explanation(self, job: JobId, now_ms: int) -> Explanation | None:
        """Why a job waits; None when it does not wait, or was not considered yet."""
        async with self._explaining:
            # Not longer while nothing changes: reasons tell times from now, such as when a job may be told to leave.
            if self._explained_at is None or now_ms >= self._explained_at[1] + EXPLAINED_MS:
                situation = await self._situation()
                made = await self._worked_out(lambda: _explained(situation))
                self._explained = {each.job: each for each in made.explanations}
                self._explained |= {each.job: _in_vain(each) for each in made.rejected}
                self._decision, self._in_full = made, {}
                self._explained_at = (situation.version, now_ms)
                self._estimates = {
                    job: made
                    for job, made in self._estimates.items()
                    if job in self._explained or now_ms < made[1] + ESTIMATE_FRESH_MS
                }
            explained, decision = self._explained.get(job), self._decision
            if explained is not None and decision is not None and job not in self._in_full:
                self._in_full[job] = await self._worked_out(lambda: decision.in_full(explained))
        return self._in_full.get(job)

    async def why_no_larger(self, job: JobRecord, now_ms: int) -> str | None:
        """Why a running elastic job is not larger; None for other jobs, and when too many questions wait.

        Who waits for a job or follows its output looks at it again and again, so an answer serves for a moment.
        """
        if isinstance(job, ArrayRecord) or job.state is not JobState.RUNNING or job.spec.elastic_role is None:
            return None
        version = self._control.view.version
        self._sizes = {each: known for each, known in self._sizes.items() if _is_fresh(known[0], version, now_ms)}
        if job.id not in self._sizes:
            with suppress(TooMany):
                situation = await self._as_handed_over()
                size = await self._worked_out(lambda: _size(situation, job))
                self._sizes[job.id] = ((situation.version, now_ms), size)
        return self._sizes[job.id][1] if job.id in self._sizes else None

    def place(self, job: JobId, likely_ms: int | None) -> int:
        """The place of a job that was explained, if it is likely to start at this time; `NO_PLACE` if it has none."""
        explained = self._explained.get(job)
        if explained is None or explained.position == NO_PLACE:
            return NO_PLACE
        return place_at(explained, self._explained.values(), likely_ms)

    async def early_estimate(self, job: Job, now_ms: int) -> EstimatedStart | None:
        """When a job starts whose `begin` has not come; None as for other jobs."""
        early = WaitingJob(id=job.id, spec=job.spec, submitted_ms=job.submitted_ms, early=True, user=job.user)
        return await self.estimate(job.id, now_ms, early=early)

    async def estimate(self, job: JobId, now_ms: int, *, early: WaitingJob | None = None) -> EstimatedStart | None:
        """When a waiting job starts; None when no future could be simulated in time.

        `early` is the job itself where its `begin` has not come, as no situation has it then.
        """
        known = self._estimates.get(job)
        if known is not None and (known[0] == self._control.view.version or now_ms < known[1] + ESTIMATE_FRESH_MS):
            return known[2]
        if now_ms < self._tries_again_ms:
            return None
        situation = await self._situation()
        if early is not None and all(each.id != job for each in situation.scenario.waiting):
            with_it = evolve(situation.scenario, waiting=(*situation.scenario.waiting, early))
            situation = replace(situation, scenario=with_it)
        found = await self._estimated(situation, (job,), now_ms, within_s=ESTIMATE_S)
        if job not in found:
            self._tries_again_ms = now_ms + ESTIMATE_PAUSE_MS
        return found.get(job)

    async def estimates(self, now_ms: int) -> dict[JobId, EstimatedStart]:
        """When all waiting jobs start, as far as there is time to find out. One answer serves all callers."""
        async with self._estimating:
            if self._estimated_at is None or not _is_fresh(self._estimated_at, self._control.view.version, now_ms):
                version = self._control.view.version
                situation = await self._situation()
                asked = tuple(each.id for each in situation.scenario.waiting if _may_start(each))
                self._starts = await self._estimated(situation, asked, now_ms, within_s=ESTIMATES_S)
                self._estimated_at = (version, now_ms)
        return self._starts

    async def learn_unasked(self, now_ms: int) -> None:
        """Estimate the start of a job about which no user has asked, and keep what was given and learnt so far.

        Called now and then, so that the first user who asks is told what the cluster's own history says. The latest job
        that waits is taken, as users ask most about jobs that they have just submitted.
        """
        situation = await self._situation()
        known = frozenset(self._history.open)
        unasked = [each for each in situation.scenario.waiting if _may_start(each) and each.id not in known]
        latest = max((each for each in unasked if not each.attained_gpu_ms), key=_submitted, default=None)
        asked = () if latest is None else (latest.id,)
        await self._estimated(situation, asked, now_ms, within_s=UNASKED_S)
        given = self._history.given
        await self._worked_out(lambda: self._file.write(given))

    async def _estimated(
        self, situation: Situation, asked: tuple[JobId, ...], now_ms: int, *, within_s: float
    ) -> dict[JobId, EstimatedStart]:
        """Estimate some jobs, and remember what is told about them."""
        raw = await self._worked_out(lambda: estimated(situation, asked, within_s=within_s)) if asked else {}
        earliest = await self._worked_out(lambda: earliest_starts(situation.scenario, tuple(raw)))
        told = await self._told(situation, raw, earliest)
        for job, each in told.items():
            self._estimates[job] = (situation.version, now_ms, each)
            self._remember(earliest[job], job, raw[job], each)
        return told

    async def _told(
        self,
        situation: Situation,
        raw: Mapping[JobId, StartEstimate],
        earliest: Mapping[JobId, int],
        promised: tuple[Promise, ...] = (),
    ) -> dict[JobId, EstimatedStart]:
        """Estimates as they are told: corrected by what earlier ones taught, and within what is certain.

        They are not earlier than jobs can start and not later than was promised. `promised` are promises that are told
        beside the estimates and not made yet.
        """
        if self._history.learn(await self._records.find_all(self._history.open)):
            given = self._history.given
            await self._worked_out(lambda: self._file.write(given))
        scenario, grounds = situation.scenario, grounds_of(situation)
        promises = {each.job: each for each in (*scenario.promises, *promised)}
        return {
            job: self._told_of(scenario, start, earliest[job], grounds, promises.get(job)) for job, start in raw.items()
        }

    def _told_of(
        self, scenario: Scenario, raw: StartEstimate, earliest_ms: int, grounds: Grounds, promise: Promise | None
    ) -> EstimatedStart:
        corrected = self._history.corrected(raw, now_ms=scenario.now_ms, earliest_ms=earliest_ms)
        start, resting = within_promise(corrected, grounds, promise)
        return EstimatedStart(
            start=start,
            grounds=resting,
            record=self._history.record(resting.basis),
            unlimited=unlimited_before(scenario, promise),
        )

    def _remember(self, earliest_ms: int, job: JobId, raw: StartEstimate, told: EstimatedStart) -> None:
        """Remember the estimate if the job never ran. A job that ran before waits for other things and is skipped."""
        known = self._control.view.jobs.get(job)
        if known is not None and known.first_started_ms is None:
            self._history.remember(job, raw, told, now_ms=earliest_ms)

    async def tried_job(self, spec: JobSpec, unmet: tuple[JobId, ...], user: str) -> TriedJob:
        """What would happen to a job if a user submitted it now."""
        situation = await self._situation()
        scenario = situation.scenario
        now_ms = scenario.now_ms
        early = spec.begin.begins_ms(now_ms) > now_ms
        candidate = WaitingJob(id=CANDIDATE, spec=spec, submitted_ms=now_ms, unmet=unmet, early=early, user=user)
        tried = replace(situation, scenario=evolve(scenario, waiting=(*scenario.waiting, candidate)))
        job = await self._worked_out(lambda: _tried_job(tried))
        earliest = await self._worked_out(lambda: earliest_starts(tried.scenario, tuple(job.raw)))
        promised = tuple(each for each in job.decision.plan.promises if each.job == CANDIDATE)
        return replace(job, estimate=(await self._told(tried, job.raw, earliest, promised)).get(CANDIDATE))

    async def _situation(self) -> Situation:
        situation = await self._as_handed_over()
        if self._control.has_stopped:
            return situation
        return replace(situation, recent=await self._recent(situation.scenario.now_ms))

    async def _as_handed_over(self) -> Situation:
        """The situation without what only the archive knows."""
        if self._control.has_stopped:  # then the state does not change any more
            return handed_over(self._control.state, self._control.view.now_ms)
        return await asyncio.wrap_future(self._control.ask(hand_over))

    async def _recent(self, now_ms: int) -> tuple[Arrival, ...]:
        """Recent submissions, oldest first; empty when they span too short a time to predict future ones."""
        page = await self._records.ask(lambda archive: archive.page(JobFilter(), limit=RECENT_ARRIVALS))
        arrivals = [arrival for record in page.jobs for arrival in arrivals_of(record)][:RECENT_ARRIVALS]
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


def _may_start(job: WaitingJob) -> bool:
    return not job.unmet and not job.held


def _submitted(job: WaitingJob) -> tuple[int, JobId]:
    return job.submitted_ms, job.id


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


def _size(situation: Situation, job: Job) -> str | None:
    scenario = situation.scenario
    return why_no_larger(job.id, Snapshot.of(scenario), scenario.now_ms) or None


def _explained(situation: Situation) -> Decision:
    """Why jobs wait, according to the plan of the last cycle."""
    if situation.decided is None:
        return decide(situation.scenario, situation.entitlements, situation.history)
    return explain_decided(situation.scenario, situation.entitlements, situation.decided, situation.history)


def _tried_job(situation: Situation) -> TriedJob:
    decision = decide(situation.scenario, situation.entitlements, situation.history)
    told = tuple([decision.in_full(each) for each in decision.explanations if each.job == CANDIDATE])
    return TriedJob(
        decision=replace(decision, explanations=told),
        raw=estimated(situation, (CANDIDATE,), within_s=ESTIMATE_S) if told else {},
    )
