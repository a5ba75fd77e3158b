"""From a plan to events: the plan is checked against the present state, and then applied or dropped as a whole."""

from muster.core.lifecycle import transition
from muster.engine.folding.state import State
from muster.model.events import Event, EvictionOrdered, HoldsSet, JobStarted, ResizeOrdered
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.plan import Eviction, Plan, Resize, Start
from muster.model.records import Record


class Applied(Record, frozen=True, kw_only=True):
    """The plan is valid. These events carry it out."""

    events: tuple[Event, ...]


class Dropped(Record, frozen=True, kw_only=True):
    """The plan must not be carried out."""

    reasons: tuple[str, ...]
    is_stale: bool = False
    """True when the state has changed since the plan was made. Then a new plan is worth making."""


def apply(plan: Plan, problems: tuple[str, ...], state: State) -> Applied | Dropped:
    """The events that carry the plan out, or why it is dropped.

    A plan is applied if it was made from the present version of the state, lint found no problem, and its jobs are in
    the states that it expects.
    """
    if plan.version != state.snapshot.version:
        reason = f"made from version {plan.version}, and the state is at {state.snapshot.version}"
        return Dropped(reasons=(reason,), is_stale=True)
    contradictions = (*problems, *_contradictions(plan, state))
    if contradictions:
        return Dropped(reasons=contradictions)
    return Applied(
        events=(
            *[_eviction(plan, eviction, state.jobs[eviction.job]) for eviction in plan.evictions],
            *_resizes(plan, state),
            *[_start(plan, start, state) for start in plan.starts],
            *_promises(plan, state),
        )
    )


def _contradictions(plan: Plan, state: State) -> tuple[str, ...]:
    """Where the plan expects a job in another state than the one it is in."""
    changing = [each.job for each in plan.evictions] + [each.job for each in plan.resizes]
    return (
        *[
            f"{start.job} is to start and is {state.state_of(start.job)}"
            for start in plan.starts
            if state.state_of(start.job) is not JobState.QUEUED
        ],
        *[
            f"{job} is to leave or to change its size and is {state.state_of(job)}"
            for job in changing
            if not _may_change(state, job)
        ],
    )


def _may_change(state: State, job: JobId) -> bool:
    """True for a job that runs, and for one that is about to start again at another size: it has GPUs until it does."""
    record = state.jobs.get(job)
    return record is not None and (record.state in (JobState.STARTING, JobState.RUNNING) or bool(record.next_gang))


def _eviction(plan: Plan, eviction: Eviction, job: Job) -> EvictionOrdered:
    return EvictionOrdered(
        at_ms=plan.now_ms,
        job=job.id,
        attempt=job.attempt,
        why=eviction.why,
        for_job=eviction.for_job,
        by_ms=plan.now_ms + job.grace_ms,
        lost_gpu_ms=eviction.lost_gpu_ms,
    )


def _resizes(plan: Plan, state: State) -> tuple[ResizeOrdered, ...]:
    """Only the resizes that change something now. A job whose last resize is still under way is planned again later."""
    if not plan.resizes:
        return ()
    orders = ((state.jobs[resize.job], _resize(plan, resize, state.jobs[resize.job])) for resize in plan.resizes)
    return tuple(order for job, order in orders if transition(job, order)[0] != job)


def _resize(plan: Plan, resize: Resize, job: Job) -> ResizeOrdered:
    return ResizeOrdered(
        at_ms=plan.now_ms, job=job.id, attempt=job.attempt, workers=resize.workers, for_job=resize.for_job
    )


def _start(plan: Plan, start: Start, state: State) -> JobStarted:
    job, setting = state.jobs[start.job], state.snapshot.setting
    return JobStarted(
        at_ms=plan.now_ms,
        job=job.id,
        attempt=job.attempt + 1,
        generation=job.generation + 1,
        workers=start.workers,
        max_duration_ms=setting.limit_ms(job.spec),
        stop_grace_ms=setting.policy.stop_grace_ms,
    )


def _promises(plan: Plan, state: State) -> tuple[HoldsSet, ...]:
    """The promises of the plan, if they differ from the present ones.

    A job that starts uses up its promise, so the present promise of such a job does not count.
    """
    if not plan.promises and not state.snapshot.promises:
        return ()
    started = frozenset(start.job for start in plan.starts)
    standing = tuple(promise for promise in state.snapshot.promises.values() if promise.job not in started)
    return () if plan.promises == standing else (HoldsSet(at_ms=plan.now_ms, holds=plan.promises),)
