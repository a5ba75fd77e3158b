"""Whose place a job takes that was promised the GPUs of jobs that leave: which jobs, by when, and what they lose."""

from muster.core.cluster.footprint import gpu_milli_of
from muster.core.explaining.wording import gpu_time, named, time_left
from muster.core.order.preemptibles import lost_gpu_ms, saved_at_ms
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId
from muster.model.job import Worker, beyond
from muster.model.plan import Promise, Reason, ReasonCode


class Departing:
    """The jobs that were told to leave or to shrink, before or in a plan."""

    def __init__(self, draft: PlanDraft) -> None:
        """`draft` is the state after the plan."""
        self._draft = draft
        self._snapshot = draft.snapshot

    def reason(self, promise: Promise) -> Reason | None:
        """What a job waits for that was promised GPUs by departures; None when no job is left on them."""
        told = [job_id for job_id in self._on(promise) if self._leaves(job_id)]
        shrinks = [job_id for job_id in self._on(promise) if job_id in self._draft.resizes]
        parts = [self._leaving(told)] if told else []
        again = [job_id for job_id in shrinks if self._starts_again(job_id)]
        in_place = [job_id for job_id in shrinks if job_id not in again]
        if in_place:
            gives = "gives" if len(in_place) == 1 else "give"
            parts.append(f"{named(in_place)} {gives} up workers for it")
        if again:
            is_one = "is" if len(again) == 1 else "are"
            parts.append(f"{named(again)} {is_one} started again with fewer workers for it and {self._loses(again)}")
        in_ms = promise.start_ms - self._draft.now_ms
        return (
            Reason(
                code=ReasonCode.CAPACITY,
                message=", and ".join(parts),
                would_help=f"nothing needed: it starts on {named(promise.nodes)} in {time_left(in_ms)} at the latest",
                about=tuple(map(str, (*told, *shrinks))),
                until_ms=promise.start_ms,
            )
            if parts
            else None
        )

    def _leaves(self, job_id: JobId) -> bool:
        return job_id in self._draft.leaving or self._snapshot.running[job_id].leaving_by_ms is not None

    def _on(self, promise: Promise) -> list[JobId]:
        """The running jobs with a worker where one of the promised workers goes, in the order of their ids."""
        index_of = self._snapshot.setting.tree.index_of
        found: dict[JobId, None] = {}
        for worker in promise.workers:
            for job_id, _ in self._snapshot.uses_on(index_of[worker.node]) if worker.node in index_of else ():
                if any(_share_a_gpu(worker, other) for other in self._given_up(job_id)):
                    found[job_id] = None
        return sorted(found)

    def _given_up(self, job_id: JobId) -> tuple[Worker, ...]:
        """The workers of a job that go: all of them, or those that it gives up."""
        job, resize = self._snapshot.running[job_id], self._draft.resizes.get(job_id)
        return job.workers if resize is None else beyond(job.workers, resize.workers)

    def _leaving(self, jobs: list[JobId]) -> str:
        by_ms = max(self._draft.end_ms(self._snapshot.running[job_id]) for job_id in jobs)
        is_told = "is" if len(jobs) == 1 else "are"
        in_time = time_left(by_ms - self._draft.now_ms)
        loses = self._loses(jobs)
        return f"it takes the place of {named(jobs)}, which {is_told} told to leave within {in_time} and {loses}"

    def _starts_again(self, job_id: JobId) -> bool:
        """True for a job that is made smaller by ending all of its workers."""
        job, resize = self._snapshot.running[job_id], self._draft.resizes[job_id]
        return not job.spec.resizes_in_place or job.workers[0] not in resize.workers

    def _loses(self, jobs: list[JobId]) -> str:
        lost = sum(self._lost_gpu_ms(job_id) for job_id in jobs)
        anew = [job_id for job_id in jobs if not self._snapshot.running[job_id].spec.can_resume]
        work = f"up to {gpu_time(lost)} of work" if lost else "no work"
        loses = f"{'loses' if len(jobs) == 1 else 'lose'} {work}"
        return loses + (", as it has no checkpoint" if anew and len(jobs) == 1 and lost else "")

    def _lost_gpu_ms(self, job_id: JobId) -> int:
        eviction = self._draft.evictions.get(job_id)
        if eviction is not None:
            return eviction.lost_gpu_ms
        job = self._snapshot.running[job_id]
        return lost_gpu_ms(saved_at_ms(job), gpu_milli_of(self._snapshot.demands[job_id]), self._draft.now_ms)


def _share_a_gpu(one: Worker, other: Worker) -> bool:
    """True when two workers use the same GPU; without GPUs, when they are on the same node."""
    if one.node != other.node:
        return False
    return not one.gpus or any(gpu in other.gpus for gpu in one.gpus)
