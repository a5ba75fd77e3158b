"""`lint(plan, snapshot)`: what is wrong with a plan, before anybody acts on it. Runs on every plan, live and simulated.

It looks at the plan as the engine would carry it out and trusts nothing that planning worked out on the way. The
checker in `muster.checker` states the same rules a second time without any of the code in here.
"""

from collections.abc import Iterator

from muster.core.cluster.capacity import Capacity
from muster.core.footprint import demand_of_running, footprint_of
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import Placement
from muster.model.plan import Plan, Resize
from muster.model.spec import JobSpec


def lint(plan: Plan, snapshot: Snapshot) -> tuple[str, ...]:
    """All violations, in words; empty when the plan may be applied."""
    if plan.version != snapshot.version:
        return (f"plan was made for version {plan.version}, the snapshot is at {snapshot.version}",)
    return (*_wrong_jobs(plan, snapshot), *_wrong_placements(plan, snapshot), *_wrong_holds(plan, snapshot))


def _wrong_jobs(plan: Plan, snapshot: Snapshot) -> Iterator[str]:
    """Jobs that are not in the state the plan takes them to be in, or appear twice."""
    started = [start.job for start in plan.starts]
    changed = [eviction.job for eviction in plan.evictions] + [resize.job for resize in plan.resizes]
    for job_id in (*_repeated(started), *_repeated(changed)):
        yield f"{job_id} is decided twice"
    for job_id in started:
        if job_id not in snapshot.queue.class_of:
            yield f"{job_id} starts but does not wait, or may not be considered yet"
    for job_id in changed:
        running = snapshot.running.get(job_id)
        if running is None or running.leaving_by_ms is not None:
            yield f"{job_id} is evicted or resized but does not run, or is leaving already"
    for hold in plan.holds:
        if hold.job in started:
            yield f"{hold.job} starts and is promised a later start"


def _repeated(jobs: list[JobId]) -> list[JobId]:
    counts: dict[JobId, int] = {}
    for job_id in jobs:
        counts[job_id] = counts.get(job_id, 0) + 1
    return [job_id for job_id, count in counts.items() if count > 1]


def _wrong_placements(plan: Plan, snapshot: Snapshot) -> Iterator[str]:
    """Gangs that are not whole, GPUs used twice, limits broken."""
    capacity = snapshot.capacity.fork()
    ledger = snapshot.ledger.fork()
    for start in plan.starts:
        job = snapshot.queue.jobs.get(start.job)
        if job is not None:
            yield from _wrong_gang(start.job, job.spec, start.workers)
            yield from _taken(start.job, job.spec, start.workers, capacity, snapshot)
            demand = demand_of_running(job.spec, start.workers, snapshot.setting.tree)
            breach = ledger.breach(job.spec.team, demand)
            if breach is not None:
                yield f"{start.job} takes {breach.team} above its limit of {breach.gpu_type}"
            ledger.charge(job.spec.team, demand)
    for resize in plan.resizes:
        running = snapshot.running.get(resize.job)
        if running is not None:
            yield from _wrong_gang(resize.job, running.spec, resize.workers)
            added = _added(resize, running.workers)
            yield from _taken(resize.job, running.spec, added, capacity, snapshot)


def _wrong_gang(job_id: JobId, spec: JobSpec, workers: Placement) -> Iterator[str]:
    """A gang runs whole or not at all, with ranks that have no gaps."""
    for role in spec.roles:
        count = sum(1 for worker in workers if worker.role == role.name)
        if not role.workers_min <= count <= role.workers_max:
            yield f"{job_id} has {count} workers of role {role.name}, not {role.workers_min}..{role.workers_max}"
    if [worker.rank for worker in workers] != list(range(len(workers))):
        yield f"{job_id} has ranks with gaps"


def _taken(job_id: JobId, spec: JobSpec, workers: Placement, capacity: Capacity, snapshot: Snapshot) -> Iterator[str]:
    """Take what a gang needs and say whether it was free."""
    if not workers:
        return
    footprint = footprint_of(spec, workers, snapshot.setting.tree)
    if not capacity.holds(footprint):
        yield f"{job_id} is placed on what is not free"
    capacity.take(footprint)


def _added(resize: Resize, before: Placement) -> Placement:
    """The workers that a resize adds to those there were."""
    known = [(worker.role, worker.node, worker.gpus) for worker in before]
    added = []
    for worker in resize.workers:
        place = (worker.role, worker.node, worker.gpus)
        if place in known:
            known.remove(place)
        else:
            added.append(worker)
    return tuple(added)


def _wrong_holds(plan: Plan, snapshot: Snapshot) -> Iterator[str]:
    """Promises to jobs that do not exist, in the past, or on nodes that do not exist."""
    for hold in plan.holds:
        if hold.start_ms < plan.now_ms:
            yield f"{hold.job} is promised a start in the past"
        if hold.job not in snapshot.queue.jobs and hold.job not in snapshot.running:
            yield f"{hold.job} is promised a start but does not exist"
        for node in hold.nodes:
            if node not in snapshot.setting.tree.index_of:
                yield f"{hold.job} is promised {node}, which does not exist"
