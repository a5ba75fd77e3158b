"""What must be true of ranks: a gang has a world that it can use, and its first worker does not just vanish."""

from collections.abc import Iterator

from muster.core.lifecycle.seats import with_processes
from muster.model.job import Job, JobState

ACTIVE = (JobState.STARTING, JobState.RUNNING)


def present_ranks(job: Job) -> Iterator[str]:
    """What is wrong with the ranks of a job that has GPUs."""
    ranks = [worker.rank for worker in with_processes(job)]
    if len(frozenset(ranks)) < len(ranks):
        yield f"two of its workers have the same rank: {ranks}"
    members = [worker.rank for worker in job.workers]
    if not job.spec.resizes_in_place and job.state in ACTIVE and members != list(range(len(members))):
        yield f"its workers cannot form a world with the ranks {members}"


def changed_ranks(before: Job, job: Job) -> Iterator[str]:
    """What is wrong with how the workers of a job have changed."""
    members = [worker.rank for worker in job.workers]
    if job.state not in ACTIVE or not members:
        return
    if job.attempt > before.attempt:
        if job.started_ms is not None and not job.ready_ranks and members != list(range(len(members))):
            yield f"attempt {job.attempt} begins with the ranks {members}"
        return
    if before.state not in ACTIVE or before.workers == job.workers:
        return
    if not job.spec.resizes_in_place:
        yield f"its workers change while it runs, and its launcher cannot change its size: {members}"
    if before.workers[0] not in job.workers and job.node_failures == before.node_failures:
        yield f"its first worker, rank {before.workers[0].rank}, is gone, and no node has failed"
