"""One possible future of a situation: the planner of the live system under a virtual clock, without a log.

It starts with the jobs that run and wait now, and goes from moment to moment. Jobs end and arrive as sampled. Plans are
made when the engine would make them, and are carried out unchanged. Only the planner decides which jobs run.
"""

import heapq
from collections.abc import Iterator, Mapping

from muster.core.order.entitlements import Entitlements
from muster.core.order.run_times import run_ms
from muster.core.snapshot import Snapshot
from muster.engine.decisions import Planner
from muster.estimates.sampling import FutureSample
from muster.estimates.training import Habits, seats_milli
from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan, Resize, Start
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario

GRAIN_PARTS = 100
"""Two moments are apart by at least the time since the present divided by this: a start in some hours need not be exact
to the second. It bounds the cost of looking far ahead."""
GRAIN_MAX_MS = 300_000
"""That distance never exceeds this, so that short jobs stay short: still shorter ones take this long, hours ahead."""
MOMENTS = 50_000
"""How many moments one future may have. A job that has not started by then starts too late for an estimate."""


class Future:
    """A situation that unfolds; `first_starts` is called once.

    `entitlements` are what jobs were due until now, and are continued here. Without them, none are kept.
    """

    def __init__(
        self,
        scenario: Scenario,
        sample: FutureSample,
        newcomers: Iterator[WaitingJob],
        *,
        planner: Planner,
        habits: Habits,
        entitlements: Entitlements | None = None,
    ) -> None:
        self._now_ms = self._present_ms = scenario.now_ms
        early = _early(scenario.waiting)
        if early:
            newcomers = heapq.merge(newcomers, early, key=_comes_ms)
            scenario = evolve(scenario, waiting=tuple(job for job in scenario.waiting if not job.early))
        self._snapshot = Snapshot.of(scenario, entitlements)
        self._is_entitling = entitlements is not None
        self._sample = sample
        self._newcomers = newcomers
        self._newcomer = next(newcomers, None)
        self._planner = planner
        self._habits = habits
        self._left_ms: dict[JobId, int] = {}
        """How much longer each job that was stopped has to run."""
        self._due_ms: dict[JobId, int] = {}
        """When each running job is done, or is gone if it was told to leave."""
        self._agenda: list[tuple[int, JobId]] = []
        """The same as a heap. Entries that no longer agree with `_due_ms` are ignored."""
        self._planned_news: int | None = None
        self._wake_ms: int | None = None
        for job in scenario.running:
            self._expect(job)
        for waiting in scenario.waiting:
            self._entitle(waiting)

    def first_starts(self, jobs: Mapping[JobId, None], until_ms: int, found: dict[JobId, int]) -> None:
        """Add to `found` when each of these jobs starts, for those that start until then."""
        for _ in range(MOMENTS):
            for job in self._decide():
                if job in jobs:
                    found.setdefault(job, self._now_ms)
            following = self._next_moment()
            if len(found) == len(jobs) or following is None or following > until_ms:
                break
            self._go_to(following)

    def _next_moment(self) -> int | None:
        while self._agenda and self._due_ms.get(self._agenda[0][1]) != self._agenda[0][0]:
            heapq.heappop(self._agenda)
        moments = (
            self._agenda[0][0] if self._agenda else None,
            self._wake_ms,
            None if self._newcomer is None else self._newcomer.submitted_ms,
        )
        soonest = min((moment for moment in moments if moment is not None), default=None)
        if soonest is None or soonest <= self._now_ms:
            return soonest
        grain_ms = min((self._now_ms - self._present_ms) // GRAIN_PARTS, GRAIN_MAX_MS)
        return max(soonest, self._now_ms + grain_ms)

    def _go_to(self, now_ms: int) -> None:
        """Let jobs end, leave and arrive until then."""
        self._now_ms = max(now_ms, self._now_ms)
        while self._agenda and self._agenda[0][0] <= now_ms:
            at_ms, job = heapq.heappop(self._agenda)
            if self._due_ms.get(job) == at_ms:
                self._end(job)
        while self._newcomer is not None and self._newcomer.submitted_ms <= now_ms:
            self._snapshot.enqueue(self._newcomer)
            self._entitle(self._newcomer)
            self._newcomer = next(self._newcomers, None)

    def _entitle(self, job: WaitingJob) -> None:
        """Entitle a job to its share from now on, if it was not before."""
        entitlements = self._snapshot.entitlements
        if self._is_entitling and not entitlements.knows(job.id):
            entitlements.join(job.id, job.spec.team, self._now_ms)

    def _expect(self, job: RunningJob) -> None:
        """Sample when a job that runs at the beginning ends. A job that was told to leave is gone by its deadline."""
        now_ms = self._now_ms
        left_ms = self._sample.left_ms(job.spec, ran_ms(job, now_ms))
        if job.leaving_by_ms is None:
            self._finish_at(job.id, now_ms + self._within_limit(job, left_ms))
        else:
            self._left_ms[job.id] = left_ms
            self._finish_at(job.id, min(job.leaving_by_ms, now_ms + self._habits.leave_ms))

    def _within_limit(self, job: RunningJob, left_ms: int) -> int:
        limit_ms = job.started_ms + self._snapshot.setting.limit_ms(job.spec) - self._now_ms
        return max(min(left_ms, limit_ms), 1)

    def _finish_at(self, job: JobId, at_ms: int) -> None:
        self._due_ms[job] = max(at_ms, self._now_ms)
        heapq.heappush(self._agenda, (self._due_ms[job], job))

    def _end(self, job_id: JobId) -> None:
        """End a job that is done, or requeue a job that was preempted."""
        del self._due_ms[job_id]
        job = self._snapshot.finish(job_id)
        gpu_ms = seats_milli(job.workers) * (self._now_ms - job.started_ms) // GPU_MILLI
        self._snapshot.charge(job.spec.team, gpu_ms, self._now_ms)
        if job.leaving_by_ms is not None and not _is_part(job):
            self._snapshot.enqueue(
                WaitingJob(
                    id=job_id,
                    spec=job.spec,
                    submitted_ms=job.submitted_ms,
                    requeued=True,
                    attained_gpu_ms=job.attained_gpu_ms + gpu_ms,
                    starved=job.starved,
                    user=job.user,
                )
            )
        else:
            self._snapshot.entitlements.leave(job_id, self._now_ms)

    def _decide(self) -> list[JobId]:
        """Plan if the engine would, and return the jobs that start."""
        snapshot = self._snapshot
        is_woken = self._wake_ms is not None and self._wake_ms <= self._now_ms
        if not is_woken and (snapshot.is_idle or snapshot.news == self._planned_news):
            return []
        plan = self._planner(snapshot, self._now_ms)
        self._carry_out(plan)
        self._planned_news, self._wake_ms = snapshot.news, plan.wake_ms
        return [start.job for start in plan.starts]

    def _carry_out(self, plan: Plan) -> None:
        self._snapshot.queue.remember_stuck(plan.blocked, self._snapshot.releases)
        for eviction in plan.evictions:
            self._tell_to_leave(eviction.job)
        for resize in plan.resizes:
            self._resize(resize)
        for start in plan.starts:
            self._start(start)
        if plan.promises != tuple(self._snapshot.promises.values()):
            self._snapshot.promise(plan.promises)

    def _start(self, start: Start) -> None:
        waiting = self._snapshot.queue.jobs[start.job]
        job = RunningJob(
            id=waiting.id,
            spec=waiting.spec,
            started_ms=self._now_ms,
            workers=start.workers,
            submitted_ms=waiting.submitted_ms,
            attained_gpu_ms=waiting.attained_gpu_ms,
            starved=waiting.starved,
            user=waiting.user,
        )
        self._snapshot.start(job)
        left_ms = self._left_ms.pop(job.id, None)
        if left_ms is None:
            left_ms = self._sample.left_ms(job.spec, run_ms(job.spec, job.attained_gpu_ms))
        overhead_ms = self._habits.start_ms + (self._habits.restart_cost_ms if job.attained_gpu_ms else 0)
        self._finish_at(job.id, self._now_ms + self._within_limit(job, overhead_ms + left_ms))

    def _tell_to_leave(self, job_id: JobId) -> None:
        job = self._snapshot.running[job_id]
        self._left_ms[job_id] = self._due_ms[job_id] - self._now_ms
        self._snapshot.leaving(job_id, self._now_ms + self._snapshot.setting.grace_ms(job.spec))
        self._snapshot.preempted(job.spec.team, self._now_ms)
        self._finish_at(job_id, self._now_ms + self._habits.leave_ms)

    def _resize(self, resize: Resize) -> None:
        """Change a job's size. Its remaining time scales with the workers; all its usage is charged by the new size."""
        left_ms = (self._due_ms[resize.job] - self._now_ms) * resize.from_workers // max(resize.to_workers, 1)
        self._snapshot.resize(resize.job, resize.workers)
        self._finish_at(resize.job, self._now_ms + left_ms)


def ran_ms(job: RunningJob, now_ms: int) -> int:
    """How long a running job has run, all attempts together."""
    return run_ms(job.spec, job.attained_gpu_ms) + max(now_ms - job.started_ms, 0)


def _is_part(job: RunningJob) -> bool:
    """True when the leaving job may be workers that an elastic job gave up, which are not requeued."""
    return job.spec.elastic_role is not None


def _early(waiting: tuple[WaitingJob, ...]) -> list[WaitingJob]:
    """Jobs that are not to begin yet, as newcomers of the time at which they are."""
    found = [
        evolve(job, early=False, submitted_ms=job.spec.begin.begins_ms(job.submitted_ms))
        for job in waiting
        if job.early
    ]
    return sorted(found, key=lambda job: (job.submitted_ms, job.id))


def _comes_ms(job: WaitingJob) -> int:
    return job.submitted_ms
