"""What elastic jobs give up for a gang that needs it to run at all."""

from collections.abc import Sequence

from muster.core.cluster.footprint import demand_of_running, footprint_of, gpu_milli_of
from muster.core.cluster.gang import running_gang
from muster.core.cluster.tenancy import UNSEEN
from muster.core.order.quota import account_of
from muster.core.planning.displacing.victims import Victim, victim_of
from muster.core.planning.draft import PlanDraft
from muster.model.ids import JobId
from muster.model.job import Placement, RunningJob, beyond
from muster.model.plan import Resize, Why
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.spec import RoleSpec


def shrinkable(draft: PlanDraft) -> list[Victim]:
    """What running elastic jobs have beyond their minimum: it goes to gangs that need it to run at all.

    Each worker (or tensor-parallel group of workers) is offered by itself, so that no more is taken than is needed.
    `spare_workers` says how many of them may go. At equal cost those with the highest ranks go first. What a job has on
    nodes for itself alone is of use to no other.
    """
    found: list[Victim] = []
    for _, job in sorted(draft.snapshot.elastic.items()):
        role = job.spec.elastic_role
        if role is None or job.leaving_by_ms is not None or job.id in draft.resizes or job.id in draft.evictions:
            continue
        may_go = () if job.spec.exclusive else _workers_that_may_go(draft, job, role)
        if spare_workers(job) <= 0 or not may_go:
            continue
        part = next(part for part in running_gang(job, draft.setting).parts if part.role == role.name)
        of_role = [worker for worker in job.workers if worker.role == role.name]
        groups = [tuple(of_role[at : at + part.group]) for at in range(0, len(of_role), part.group)]
        found += [workers_of(draft, job, workers) for workers in reversed(groups) if workers[0] in may_go]
    return found


def _workers_that_may_go(draft: PlanDraft, job: RunningJob, role: RoleSpec) -> Placement:
    """The workers of the elastic role that could go, with the others of their group.

    Without its first worker a gang starts again, and most gangs do so without any worker.
    """
    of_role = tuple(worker for worker in job.workers if worker.role == role.name)
    if may_start_again(draft, job):
        return of_role
    return tuple(worker for worker in of_role if worker != job.workers[0]) if job.spec.resizes_in_place else ()


def spare_workers(job: RunningJob) -> int:
    """How many workers an elastic job has beyond its minimum."""
    role = job.spec.elastic_role
    if role is None:
        return 0
    return sum(1 for worker in job.workers if worker.role == role.name) - role.workers_min


def may_start_again(draft: PlanDraft, job: RunningJob) -> bool:
    """True when the job could be started where it is. A node may have been drained under it, or closed to it."""
    spec, tree = job.spec, draft.setting.tree
    pools = draft.setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
    seats = [(tree.nodes[tree.index_of[worker.node]], worker.gpus) for worker in job.workers]
    return all(
        node.state.takes_work and node.pool in pools and not any(gpu in node.bad_gpus for gpu in gpus)
        for node, gpus in seats
    )


def workers_of(draft: PlanDraft, job: RunningJob, workers: Placement) -> Victim:
    """Some workers of an elastic job as a victim. The job stays a tenant of their nodes: others of it may be there.

    A gang that starts again loses what it has not saved. That is so for most launchers, and for every gang that gives
    up its first worker.
    """
    tree = draft.setting.tree
    demand = demand_of_running(job.spec, workers, tree)
    cost = draft.policy.restart_cost_ms * gpu_milli_of(demand) // GPU_MILLI
    if not job.spec.resizes_in_place or workers[0] == job.workers[0]:
        cost = victim_of(draft, job, Why.TIER).cost
    return Victim(job, Why.TIER, cost, footprint_of(job.spec, workers, tree, UNSEEN), demand, workers)


def shrink(draft: PlanDraft, victims: Sequence[Victim], for_job: JobId) -> None:
    """Let elastic jobs give up workers for another job."""
    given_up: dict[JobId, list[int]] = {}
    jobs: dict[JobId, RunningJob] = {}
    for victim in victims:
        jobs[victim.job.id] = victim.job
        given_up.setdefault(victim.job.id, []).extend(worker.rank for worker in victim.workers)
        draft.projected.charge(account_of(victim.job), victim.demand, sign=-1)
    for job_id, ranks in given_up.items():
        job = jobs[job_id]
        kept = renumbered(tuple(worker for worker in job.workers if worker.rank not in ranks))
        draft.resizes[job_id] = Resize(
            job=job_id, from_workers=len(job.workers), to_workers=len(kept), workers=kept, for_job=for_job
        )


def keep_after_all(draft: PlanDraft, job_id: JobId, workers: Placement) -> None:
    """Let an elastic job keep some of the workers that it was to give up."""
    job, resize = draft.snapshot.running[job_id], draft.resizes[job_id]
    gone = beyond(beyond(job.workers, resize.workers), workers)
    if not gone:
        draft.pardon(job_id)
        return
    kept = renumbered(beyond(job.workers, gone))
    draft.projected.charge(account_of(job), demand_of_running(job.spec, workers, draft.setting.tree))
    draft.resizes[job_id] = evolve(resize, to_workers=len(kept), workers=kept)


def renumbered(workers: Placement) -> Placement:
    """The same workers with ranks that have no gaps, in the order they had."""
    return tuple(evolve(worker, rank=rank) for rank, worker in enumerate(workers))
