"""Applies a plan to a snapshot as the engine does, but without the engine, so that only planning is measured."""

from muster.core.snapshot import Snapshot
from muster.model.job import RunningJob, WaitingJob
from muster.model.plan import Plan


def carry_out(snapshot: Snapshot, plan: Plan) -> None:
    """Start, resize, evict and promise exactly what the plan says."""
    for start in plan.starts:
        waiting = snapshot.dequeue(start.job)
        snapshot.start(
            RunningJob(
                id=start.job,
                spec=waiting.spec,
                started_ms=plan.now_ms,
                workers=start.workers,
                submitted_ms=waiting.submitted_ms,
            )
        )
    for resize in plan.resizes:
        snapshot.resize(resize.job, resize.workers)
    for eviction in plan.evictions:
        job = snapshot.running[eviction.job]
        snapshot.leaving(eviction.job, plan.now_ms + snapshot.setting.grace_ms(job.spec))
        snapshot.preempted(job.spec.team, plan.now_ms)
    snapshot.promise(plan.promises)


def leave(snapshot: Snapshot, now_ms: int) -> None:
    """Requeue the jobs that had to leave by now, and end the jobs that have reached their limit."""
    gone = [job for job in snapshot.running.values() if job.leaving_by_ms is not None and job.leaving_by_ms <= now_ms]
    for job in [job for job in snapshot.running.values() if job.leaving_by_ms is None]:
        if job.started_ms + snapshot.setting.limit_ms(job.spec) <= now_ms:
            snapshot.finish(job.id)
    for job in gone:
        snapshot.finish(job.id)
        snapshot.enqueue(WaitingJob(id=job.id, spec=job.spec, submitted_ms=job.submitted_ms, requeued=True))
