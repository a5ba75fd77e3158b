"""No job waits beyond its bound, and every job that has waited too long counts as starved while there is room for it.

The bound of a wait is what `muster why` would have said when it began: time of the jobs in front, over the slots that
they must take. It grows by what nobody could know then: jobs that came later, and starts of jobs, each of which keeps
its GPUs for a while. It is taken anew when nodes change and when the place of the job does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.core.explaining.wait_bound import WaitBounds, slots_taken
from muster.core.order.run_times import run_ms
from muster.core.order.service import aged_ms, band_begins_gpu_ms, band_ends_gpu_ms, band_of
from muster.engine.folding.state import State
from muster.model.ids import JobId
from muster.model.job import Job, JobState, WaitingJob
from muster.model.limits import SETTLING_MS, STARVATION_LOOK_MS, STARVATION_MS, STARVED_PART
from muster.model.policy import MINUTE_MS
from muster.model.resources import GPU_MILLI

SLACK_MS = 5 * MINUTE_MS
"""Cycles follow one another within seconds, and each makes room for a few jobs only."""


@dataclass(slots=True)
class _Wait:
    """One wait of one job."""

    since_ms: int
    band: int
    slots: int
    """How many slots must be taken while it lasts."""
    slot_ms: int
    """How much others may take of them, in slots times milliseconds."""


@dataclass(slots=True)
class _DueTime:
    """Since when a job is due, how long it had run by then, and since when starved jobs have had room for it."""

    since_ms: int
    ran_ms: int
    room_ms: int | None = None


class WaitInvariants:
    """Follows every job of one schedule from moment to moment."""

    def __init__(self) -> None:
        self._waits: dict[JobId, _Wait] = {}
        self._due: dict[JobId, _DueTime] = {}
        self._attempts: dict[JobId, int] = {}
        self._nodes: object = None
        self.longest_ms = 0
        """The longest wait so far."""

    def problems(self, state: State, now_ms: int) -> Iterator[str]:
        """Jobs that have waited for too long. Called when nothing else happens at this moment."""
        nodes = tuple(state.nodes.values())
        if nodes != self._nodes:
            self._nodes = nodes
            self._waits.clear()
        self._follow_others(state)
        self._begin(state, now_ms)
        for job_id, wait in self._waits.items():
            waited_ms = now_ms - wait.since_ms
            self.longest_ms = max(self.longest_ms, waited_ms)
            if waited_ms > wait.slot_ms // wait.slots + SLACK_MS:
                minutes, bound = waited_ms // MINUTE_MS, wait.slot_ms // wait.slots // MINUTE_MS
                yield f"{job_id}: has waited for {minutes} minutes in band {wait.band}, and its bound is {bound}"
        yield from self._not_starved(state, now_ms)

    def _follow_others(self, state: State) -> None:
        """Add what jobs that came or started since the last look may take, and forget waits that are over."""
        queue = state.snapshot.queue
        for job in state.jobs.values():
            is_new, attempts = job.id not in self._attempts, self._attempts.get(job.id, 0)
            self._attempts[job.id] = job.attempt
            if is_new or job.attempt > attempts:
                for other in self._waits:
                    if other != job.id and other in queue.jobs:
                        self._add(state, queue.jobs[other], job, is_new=is_new)
        self._waits = {
            job_id: wait
            for job_id, wait in self._waits.items()
            if job_id in queue.class_of and _band(queue.jobs[job_id]) == wait.band
        }

    def _add(self, state: State, job: WaitingJob, other: Job, *, is_new: bool) -> None:
        """Another job came or started: it takes GPUs until it is behind, and then keeps them for a while."""
        setting, wait = state.snapshot.setting, self._waits[job.id]
        kept_ms = max(setting.policy.min_runtime_ms, SETTLING_MS, state.snapshot.turn_ms or 0)
        if other.attempt and setting.tier_rank[other.spec.tier] > setting.tier_rank[job.spec.tier]:
            kept_ms = setting.limit_ms(other.spec)  # it may have to leave together with jobs of the other tier
        elif is_new:
            kept_ms += self._front_ms(state, job, other)
        taken = slots_taken(other.spec, job.spec.roles[0].request)
        wait.slot_ms += taken * (kept_ms + 2 * setting.grace_ms(other.spec))

    def _front_ms(self, state: State, job: WaitingJob, other: Job) -> int:
        """How long a job that came later is in front of one that waits."""
        setting, policy = state.snapshot.setting, state.snapshot.setting.policy
        rank = setting.tier_rank
        if rank[other.spec.tier] != rank[job.spec.tier]:
            return setting.limit_ms(other.spec) if rank[other.spec.tier] < rank[job.spec.tier] else 0
        theirs_ms = other.submitted_ms - other.spec.priority * policy.ageing_ms
        is_older = theirs_ms <= aged_ms(job, policy) or (policy.weighs_teams and other.spec.team != job.spec.team)
        band = _band(job)
        until_gpu_ms = band_ends_gpu_ms(band) if is_older else band_begins_gpu_ms(band)
        if until_gpu_ms is None:
            return setting.limit_ms(other.spec)
        return until_gpu_ms * GPU_MILLI // other.spec.gang_gpu_milli

    def _begin(self, state: State, now_ms: int) -> None:
        """Note the bound of every wait that has begun."""
        queue = state.snapshot.queue
        new = [queue.jobs[job_id] for job_id in queue.class_of if job_id not in self._waits]
        if not new:
            return
        bounds = WaitBounds(state.snapshot, now_ms)
        for job in new:
            front = bounds.in_front(job)
            if front.wait_ms is not None:
                self._waits[job.id] = _Wait(now_ms, _band(job), front.slots, (front.wait_ms + 1) * front.slots)

    def _not_starved(self, state: State, now_ms: int) -> Iterator[str]:
        """Jobs that have waited too long since they were due, with room for them among those that have starved."""
        capacity_milli = state.snapshot.setting.gpu_milli
        alive = [job for job in state.jobs.values() if not job.state.is_final]
        self._find_due(alive, capacity_milli, now_ms)
        wanted_milli = sum(job.spec.gang_gpu_milli for job in alive)
        starved_milli = sum(job.spec.gang_gpu_milli for job in alive if job.starved)
        part_milli = capacity_milli * min(capacity_milli, wanted_milli) // (STARVED_PART * max(wanted_milli, 1))
        is_first = not starved_milli and wanted_milli <= STARVED_PART * capacity_milli
        for job in alive:
            due = self._due.get(job.id)
            if due is None or job.state is not JobState.QUEUED or not job.attained_gpu_ms or job.starved:
                continue
            spent_ms = due.since_ms + STARVATION_MS + run_ms(job.spec, job.attained_gpu_ms) - due.ran_ms
            has_room = is_first or starved_milli + job.spec.gang_gpu_milli <= part_milli
            due.room_ms = None if not has_room else now_ms if due.room_ms is None else due.room_ms
            if due.room_ms is not None and now_ms > max(spent_ms, due.room_ms) + STARVATION_LOOK_MS + SLACK_MS:
                yield f"{job.id}: has waited too long, there is room for it, and it does not count as starved"

    def _find_due(self, alive: list[Job], capacity_milli: int, now_ms: int) -> None:
        milli = 0
        for job in sorted(alive, key=lambda job: (job.submitted_ms, job.id)):
            milli += job.spec.gang_gpu_milli
            if milli > capacity_milli and job.id not in self._due:
                break
            if job.id not in self._due:
                running_ms = now_ms - job.billed_ms if job.billed_ms is not None else 0
                self._due[job.id] = _DueTime(now_ms, run_ms(job.spec, job.attained_gpu_ms) + running_ms)


def _band(job: WaitingJob) -> int:
    return band_of(job.attained_gpu_ms, starved=job.starved)
