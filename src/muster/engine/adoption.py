"""Lets a job continue with its own gang that is in quarantine."""

from muster.core.cluster.footprint import demand_of_running
from muster.core.lifecycle import occupied
from muster.core.lifecycle.desired import GIVEN_UP
from muster.engine.folding.state import State
from muster.model.errors import Conflict, NotFound
from muster.model.events import Event, GangAdopted, JobSubmitted
from muster.model.ids import JobId
from muster.model.job import Job
from muster.model.machines.quarantine import FoundGang
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec

OTHERWISE = "kill it with `muster quarantine kill`"


def adoption(state: State, job: JobId, now_ms: int, *, by: str) -> tuple[Event, ...]:
    """The events that let a job continue with its gang. A job that is not known here is submitted as well."""
    gang, known = _whole_gang(state, job), state.jobs.get(job)
    spec = gang.spec if known is None else known.spec
    if spec is None:
        raise Conflict(f"{job} is not known here, and its node has not kept its job file; {OTHERWISE}")
    _check_job(job, known)
    _check_gang(state, job, spec, gang)
    setting = state.snapshot.setting
    adopted = GangAdopted(
        at_ms=now_ms,
        job=job,
        attempt=gang.attempt,
        generation=gang.generation,
        workers=gang.workers,
        max_duration_ms=setting.limit_ms(spec),
        stop_grace_ms=setting.policy.stop_grace_ms,
        next_rank=gang.next_rank,
        by=by,
    )
    return (adopted,) if known is not None else (JobSubmitted(at_ms=now_ms, job=job, spec=spec, by=by), adopted)


def _parts(state: State, job: JobId) -> list[FoundGang]:
    found = [gang for _, gang in state.quarantine.of(job)]
    if not found:
        raise NotFound(f"nothing of {job} is in quarantine; `muster quarantine ls` shows what is")
    return found


def _whole_gang(state: State, job: JobId) -> FoundGang:
    """A job's gang, put together from what its nodes reported."""
    parts = _parts(state, job)
    if len({part.attempt for part in parts}) > 1:
        raise Conflict(f"several attempts of {job} are in quarantine; {OTHERWISE}")
    workers = sorted((worker for part in parts for worker in part.workers), key=lambda worker: worker.rank)
    generation = max(part.generation for part in parts)
    spec = next((part.spec for part in parts if part.spec is not None), None)
    next_rank = max(part.next_rank for part in parts)
    return evolve(parts[0], workers=tuple(workers), generation=generation, spec=spec, next_rank=next_rank)


def _check_job(job: JobId, known: Job | None) -> None:
    if known is not None and (known.state.is_final or known.state.holds_resources):
        raise Conflict(f"{job} is {known.state} here; {OTHERWISE}")
    if known is not None and known.cause in GIVEN_UP:
        raise Conflict(f"{job} was given up ({known.cause}), and ends when its workers have")


def _check_gang(state: State, job: JobId, spec: JobSpec, gang: FoundGang) -> None:
    """Raise `Conflict` when the job cannot continue with this gang."""
    for role in spec.roles:
        there = sum(worker.role == role.name for worker in gang.workers)
        if not role.workers_min <= there <= role.workers_max:
            raise Conflict(f"{there} of {role.workers_min} workers of {job} ({role.name}) are there; {OTHERWISE}")
    if (holder := _holder(state, job, gang)) is not None:
        raise Conflict(
            f"GPUs of {job} belong to {holder} here, which may not know yet; try again later, or {OTHERWISE}"
        )
    snapshot = state.snapshot
    if spec.tier not in snapshot.setting.tier_rank:
        raise Conflict(f"{job} is of tier {spec.tier}, which does not exist here; {OTHERWISE}")
    demand = demand_of_running(spec, gang.workers, snapshot.setting.tree)
    if (breach := snapshot.ledger.breach(spec.team, demand)) is not None:
        raise Conflict(f"with {job} team {breach.team} would be above its limit; end others first, or {OTHERWISE}")


def _holder(state: State, job: JobId, gang: FoundGang) -> JobId | None:
    """Another job that, by its record, occupies so much of a GPU that too little is left for the gang."""
    wanted = {(worker.node, gpu): worker.device_milli for worker in gang.workers for gpu in worker.gpus}
    for other in state.occupying:
        for worker in occupied(state.jobs[other]) if other != job else ():
            for gpu in worker.gpus:
                left = wanted.get((worker.node, gpu))
                if left is not None and left + worker.device_milli > GPU_MILLI:
                    return other
                if left is not None:
                    wanted[worker.node, gpu] = left + worker.device_milli
    return None
