"""Carrying a plan out on plain values, and letting time pass: a scheduler's world without a scheduler."""

from collections import Counter
from collections.abc import Collection

from muster.model.ids import JobId
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan, Why
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec


def carried_out(scenario: Scenario, plan: Plan) -> Scenario:
    """The situation right after a plan was carried out: started jobs run, victims are leaving, promises are stored."""
    placed = {start.job: start.workers for start in plan.starts}
    evicted = {entry.job: entry for entry in plan.evictions}
    resized = {entry.job: entry.workers for entry in plan.resizes}
    running: list[RunningJob] = []
    for job in scenario.running:
        after = evolve(job, workers=resized.get(job.id, job.workers))
        if job.id in evicted:
            after = evolve(after, leaving_by_ms=scenario.now_ms + grace_ms(scenario, job.spec))
        running.append(after)
    running += [
        RunningJob(
            id=job.id,
            spec=job.spec,
            started_ms=scenario.now_ms,
            workers=placed[job.id],
            submitted_ms=job.submitted_ms,
        )
        for job in scenario.waiting
        if job.id in placed
    ]
    told = Counter(dict(scenario.recent_preemptions))
    told.update(
        job.spec.team for job in scenario.running if job.id in evicted and evicted[job.id].why is not Why.PROMISE
    )
    return evolve(
        scenario,
        running=tuple(running),
        waiting=tuple(job for job in scenario.waiting if job.id not in placed),
        promises=plan.promises,
        recent_preemptions=tuple(sorted(told.items())),
    )


def grace_ms(scenario: Scenario, spec: JobSpec) -> int:
    return spec.checkpoint.grace_ms if spec.checkpoint is not None else scenario.policy.stop_grace_ms


def limit_ms(scenario: Scenario, spec: JobSpec) -> int:
    tier = next(tier for tier in scenario.tiers if tier.name == spec.tier)
    return spec.max_duration_ms if spec.max_duration_ms is not None else tier.max_duration_ms


def end_ms(scenario: Scenario, job: RunningJob) -> int:
    """When a job is gone at the latest."""
    by_limit_ms = job.started_ms + limit_ms(scenario, job.spec)
    return by_limit_ms if job.leaving_by_ms is None else min(by_limit_ms, job.leaving_by_ms)


def later(scenario: Scenario, now_ms: int, exits: Collection[JobId] = ()) -> Scenario:
    """The situation at a later time: a job whose time has come is gone, and waits again if it was told to leave."""
    staying: list[RunningJob] = []
    back: list[WaitingJob] = []
    for job in scenario.running:
        if job.id in exits or end_ms(scenario, job) <= now_ms:
            if job.leaving_by_ms is not None:
                back.append(WaitingJob(id=job.id, spec=job.spec, submitted_ms=job.submitted_ms, requeued=True))
        else:
            staying.append(job)
    an_hour_passed = now_ms - scenario.now_ms >= HOUR_MS
    return evolve(
        scenario,
        now_ms=now_ms,
        running=tuple(staying),
        waiting=(*scenario.waiting, *back),
        recent_preemptions=() if an_hour_passed else scenario.recent_preemptions,
    )


def next_event_ms(scenario: Scenario) -> int | None:
    """When something is bound to happen: a job ends or a promised start comes."""
    times = [end_ms(scenario, job) for job in scenario.running] + [promise.start_ms for promise in scenario.promises]
    return min((at_ms for at_ms in times if at_ms > scenario.now_ms), default=None)
