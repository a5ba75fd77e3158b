"""Taking away what a reason names: for every reason code, the same situation without that obstacle.

A reason is true if it is gone from the job's reasons then, or the job starts. A code that the core learns has to say
here how its obstacle is taken away, or why no waiting job is told of it.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from muster.core.explaining.in_line import RESERVE
from muster.core.explaining.obstacles import NOT_EMPTY
from muster.core.explaining.place_in_tier import BY_PLACE
from muster.core.explaining.shortage import BESIDE_GPUS
from muster.model.ids import LOCAL_ENGINE, EngineName, GpuType, NodeName, TeamPath
from muster.model.job import RunningJob, WaitingJob
from muster.model.machines.constraint import parse_constraint, satisfies
from muster.model.node import Node, NodeState
from muster.model.plan import Plan, Reason, ReasonCode
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario
from muster.model.spec import CheckpointSpec, JobSpec, Parallelism, TopologySpec
from muster.model.team import ANY_TYPE, Quota, Team

PLENTY_MILLI = 10_000 * GPU_MILLI


class Told(NamedTuple):
    """One reason, as a waiting job of a situation was told."""

    scenario: Scenario
    plan: Plan
    job: WaitingJob
    reason: Reason

    def with_spec(self, spec: JobSpec) -> Scenario:
        """The situation if the job had asked for something else."""
        return self.with_job(evolve(self.job, spec=spec))

    def with_job(self, job: WaitingJob) -> Scenario:
        """The situation with another job in its place."""
        waiting = tuple(job if each.id == job.id else each for each in self.scenario.waiting)
        return evolve(self.scenario, waiting=waiting)

    def with_running(self, change: Callable[[RunningJob], RunningJob | None]) -> Scenario:
        """The situation with a change to the running jobs that the reason names; None takes a job away."""
        changed = [change(job) if job.id in self.reason.about else job for job in self.scenario.running]
        return evolve(self.scenario, running=tuple(job for job in changed if job is not None))


Removal = Callable[[Told], Scenario]


def without_obstacle(told: Told) -> Scenario:
    """The situation without what the reason names."""
    return REMOVALS[told.reason.code](told)


def _room(told: Told) -> Scenario:
    """Jobs that the reason names have left, spares that it names are open, or there are more nodes of every kind."""
    if told.reason.about and not any(node.name in told.reason.about for node in told.scenario.cluster.nodes):
        return evolve(told.with_running(lambda _: None), promises=())
    nodes = tuple(evolve(node, spare=False) for node in told.scenario.cluster.nodes)
    copies = len(told.scenario.waiting) + 1
    more = tuple(_copy(node, number) for number in range(copies) for node in nodes)
    accepted = tuple(_copied(name, number) for number in range(copies) for name in told.job.spec.nodelist)
    spec = evolve(told.job.spec, nodelist=(*told.job.spec.nodelist, *accepted))
    return evolve(told.with_spec(spec), cluster=evolve(told.scenario.cluster, nodes=(*nodes, *more)))


def _copied(name: NodeName, number: int) -> NodeName:
    return NodeName(f"{name}-more{number}")


def _copy(node: Node, number: int) -> Node:
    return evolve(node, name=_copied(node.name, number), state=NodeState.READY, bad_gpus=(), spare=False)


def _limits(told: Told) -> Scenario:
    """The limit that the reason names is raised."""
    path, gpu_type = told.reason.about
    return _with_team(
        told.scenario,
        TeamPath(path),
        lambda team: evolve(team, limit=tuple((kind, milli) for kind, milli in team.limit if kind != gpu_type)),
    )


def _guarantee(told: Told) -> Scenario:
    """The team that the reason names is guaranteed all that it could want."""
    return _guaranteed(told.scenario, TeamPath(told.reason.about[0]))


def _guaranteed(scenario: Scenario, path: TeamPath) -> Scenario:
    kinds = dict.fromkeys(node.gpu_type for node in scenario.cluster.nodes if node.gpus)
    plenty: Quota = tuple((GpuType(kind), PLENTY_MILLI) for kind in sorted((*kinds, ANY_TYPE)))
    return _with_team(scenario, path, lambda team: evolve(team, guaranteed=plenty))


def _with_team(scenario: Scenario, path: TeamPath, change: Callable[[Team], Team]) -> Scenario:
    known = {team.path: team for team in scenario.teams}
    known[path] = change(known.get(path, Team(path=path)))
    return evolve(scenario, teams=tuple(known.values()))


def _topology(told: Told) -> Scenario:
    return told.with_spec(evolve(told.job.spec, topology=TopologySpec(), parallelism=Parallelism()))


def _one_engine(told: Told) -> Scenario:
    """All nodes are in one engine."""
    cluster = told.scenario.cluster
    nodes = tuple(evolve(node, engine=LOCAL_ENGINE, domains=node.domains[1:]) for node in cluster.nodes)
    return evolve(told.scenario, cluster=evolve(cluster, levels=cluster.levels[1:], nodes=nodes))


def _any_type(told: Told) -> Scenario:
    roles = tuple(evolve(role, request=evolve(role.request, gpu_types=())) for role in told.job.spec.roles)
    return told.with_spec(evolve(told.job.spec, roles=roles))


def _less_beside_gpus(told: Told) -> Scenario:
    """Room together, a job that shares its nodes, or one that asks for nothing but GPUs."""
    if told.reason.rule == NOT_EMPTY:
        return told.with_spec(evolve(told.job.spec, exclusive=False))
    if told.reason.rule != BESIDE_GPUS:
        return _room(told)
    roles = tuple(
        evolve(role, request=evolve(role.request, cpu_milli=0, memory_bytes=0, disk_bytes=0))
        for role in told.job.spec.roles
    )
    return told.with_spec(evolve(told.job.spec, roles=roles))


def _admitted(told: Told) -> Scenario:
    pools = told.scenario.pools
    opened = tuple(evolve(pool, tiers=(), teams=()) if pool.name in told.reason.about else pool for pool in pools)
    return evolve(told.scenario, pools=opened)


def _resumable(told: Told) -> Scenario:
    return told.with_spec(evolve(told.job.spec, checkpoint=CheckpointSpec(path="/c")))


def _nobody_in_front(told: Told) -> Scenario:
    """The jobs that the reason names do not wait, or no other job does; GPUs that are kept are there several times."""
    if told.reason.rule == RESERVE:
        return _room(told)
    if told.reason.rule == BY_PLACE:
        return evolve(told.scenario, waiting=(told.job,), running=(), promises=())
    front = told.reason.about or [job.id for job in told.scenario.waiting]
    waiting = tuple(job for job in told.scenario.waiting if job.id == told.job.id or job.id not in front)
    promises = tuple(each for each in told.scenario.promises if each.job not in front)
    return evolve(_unreserved(told), waiting=waiting, promises=promises)


def _released(told: Told) -> Scenario:
    return told.with_job(evolve(told.job, held=False))


def _dependencies_met(told: Told) -> Scenario:
    return told.with_job(evolve(told.job, unmet=()))


def _begun(told: Told) -> Scenario:
    return told.with_job(evolve(told.job, early=False))


def _any_node(told: Told) -> Scenario:
    """The job accepts every node."""
    return told.with_spec(evolve(told.job.spec, constraint="", nodelist=(), exclude=(), engine=EngineName("")))


def _unreserved(told: Told) -> Scenario:
    """The reservations that the reason names are taken back."""
    left = tuple(each for each in told.scenario.reservations if each.name not in told.reason.about)
    return evolve(told.scenario, reservations=left)


def _repaired(told: Told) -> Scenario:
    cluster = told.scenario.cluster
    nodes = tuple(
        evolve(node, state=NodeState.READY, bad_gpus=()) if node.name in told.reason.about else node
        for node in cluster.nodes
    )
    return evolve(told.scenario, cluster=evolve(cluster, nodes=nodes))


def _unprotected(told: Told) -> Scenario:
    """The rule that protects the named jobs does not hold for them."""
    scenario, policy = told.scenario, told.scenario.policy
    match told.reason.rule:
        case "min_runtime":
            old_ms = scenario.now_ms - policy.min_runtime_ms
            return told.with_running(lambda job: evolve(job, started_ms=min(job.started_ms, old_ms)))
        case "preemptions_per_team_hour":
            many = evolve(policy, preemptions_per_team_hour=1000)
            return evolve(scenario, policy=many, recent_preemptions=())
        case "preemptible":
            return told.with_running(lambda job: evolve(job, spec=evolve(job.spec, preemptible=True)))
        case "guaranteed":
            raised = re.match(r"a larger guarantee for team ([\w/]+),", told.reason.would_help)
            if raised is None:
                return told.with_running(lambda _: None)
            return _guaranteed(told.scenario, TeamPath(raised[1]))
        case "tier":
            last = scenario.tiers[-1].name
            return told.with_running(lambda job: evolve(job, spec=evolve(job.spec, tier=last)))
        case _:
            raise AssertionError(f"no rule protects {told.reason.about}: {told.reason}")


REMOVALS: dict[ReasonCode, Removal] = {
    ReasonCode.CAPACITY: _room,
    ReasonCode.FRAGMENTED: _less_beside_gpus,
    ReasonCode.QUOTA_LIMIT: _limits,
    ReasonCode.QUOTA_BORROW: _guarantee,
    ReasonCode.TOPOLOGY: _topology,
    ReasonCode.ENGINE: _one_engine,
    ReasonCode.GPU_TYPE: _any_type,
    ReasonCode.POOL: _admitted,
    ReasonCode.HELD_BY_OTHERS: _nobody_in_front,
    ReasonCode.DEPENDENCY: _dependencies_met,
    ReasonCode.HELD: _released,
    ReasonCode.NODE_HEALTH: _repaired,
    ReasonCode.SPOT: _resumable,
    ReasonCode.PROTECTED: _unprotected,
    ReasonCode.CONSTRAINT: _any_node,
    ReasonCode.RESERVATION: _unreserved,
    ReasonCode.BEGIN: _begun,
}

NEVER_TOLD: dict[ReasonCode, str] = {
    ReasonCode.NEVER_FITS: "a job that can never run is refused and does not wait",
    ReasonCode.BUDGET: "there are no budgets",
    ReasonCode.IMAGE: "no situation here has a job with an image",
}
"""Codes that no waiting job of a situation is told, and why."""


WOULD_START = (
    ReasonCode.TOPOLOGY,
    ReasonCode.ENGINE,
    ReasonCode.GPU_TYPE,
    ReasonCode.POOL,
    ReasonCode.SPOT,
    ReasonCode.NODE_HEALTH,
    ReasonCode.CONSTRAINT,
    ReasonCode.RESERVATION,
)
"""Codes that claim more: without the obstacle, and if nothing else changed, the job would start now."""

EXCUSES = (ReasonCode.QUOTA_LIMIT, ReasonCode.QUOTA_BORROW, ReasonCode.HELD_BY_OTHERS)
"""Reasons that have nothing to do with room, and may still keep such a job waiting."""


def carried_out(told: Told, *, alone: bool = True) -> Told:
    """The same after the plan: what starts runs, what has to leave is leaving. Only the job still waits.

    Unless it is `alone`, jobs with a promise wait beside it.
    """
    scenario, plan = told.scenario, told.plan
    specs = {job.id: job for job in scenario.waiting}
    begun = tuple(
        RunningJob(id=start.job, spec=specs[start.job].spec, started_ms=scenario.now_ms, workers=start.workers)
        for start in plan.starts
    )
    grown = {resize.job: resize.workers for resize in plan.resizes if resize.for_job is None}
    leaves_ms = dict.fromkeys((eviction.job for eviction in plan.evictions), scenario.now_ms + HOUR_MS)
    running = tuple(
        evolve(
            job,
            workers=grown.get(job.id, job.workers),
            leaving_by_ms=leaves_ms.get(job.id, job.leaving_by_ms),
        )
        for job in scenario.running
    )
    promises = tuple(promise for promise in plan.promises if promise.job != told.job.id and not alone)
    kept = {told.job.id, *(promise.job for promise in promises)}
    after = evolve(
        scenario,
        running=(*running, *begun),
        waiting=tuple(job for job in scenario.waiting if job.id in kept),
        promises=promises,
    )
    return told._replace(scenario=after)


def short_enough(told: Told) -> Scenario:
    """The situation if the job were gone before the first of the promises and reservations that the reason names."""
    about = told.reason.about
    starts_ms = [promise.start_ms for promise in told.plan.promises if promise.job in about]
    opens_ms = [each.from_ms for each in told.scenario.reservations if each.name in about]
    left_ms = min((*starts_ms, *opens_ms)) - told.scenario.now_ms
    return told.with_spec(evolve(told.job.spec, max_duration_ms=left_ms))


def free_gpus(told: Told, gpu_type: str, *, usable: bool = True) -> float:
    """How many GPUs of a type, shares of one included, no job has after the plan, on nodes that the job may use.

    Unless they are `usable`: then those that it may not use although their pools admit it.
    """
    scenario, spec = carried_out(told).scenario, told.job.spec
    closed = {
        pool.name
        for pool in scenario.pools
        if not pool.admits(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
    }
    free = {
        (node.name, gpu): GPU_MILLI
        for node in scenario.cluster.nodes
        if node.gpu_type == gpu_type and node.state.takes_work and node.pool not in closed
        if _may_use(node, told.job, scenario) is usable
        for gpu in range(node.gpus)
        if gpu not in node.bad_gpus
    }
    for job in scenario.running:
        for worker in job.workers:
            for gpu in worker.gpus:
                if (worker.node, gpu) in free:
                    free[worker.node, gpu] -= GPU_MILLI if worker.share_milli is None else worker.share_milli
    return sum(free.values()) / GPU_MILLI


def _may_use(node: Node, job: WaitingJob, scenario: Scenario) -> bool:
    """True when a job accepts a node, no other job has it for itself, and it is not set aside for others now."""
    spec = job.spec
    if spec.constraint and not satisfies(node.known_as, parse_constraint(spec.constraint)):
        return False
    if node.name in spec.exclude or (spec.nodelist and node.name not in spec.nodelist):
        return False
    if any(
        other.spec.exclusive and node.name in {worker.node for worker in other.workers} for other in scenario.running
    ):
        return False
    return not any(
        node.name in each.nodes
        and each.meets(scenario.now_ms, scenario.now_ms + 1)
        and not each.admits(spec.team, job.user)
        for each in scenario.reservations
    )


def is_same(told: Reason, still: Reason) -> bool:
    """True when a reason names the obstacle that another named: the same rule about some of the same things."""
    if (told.code, told.rule) != (still.code, still.rule):
        return False
    if told.code is ReasonCode.QUOTA_LIMIT:
        return told.about == still.about
    return not told.about or bool(set(told.about) & set(still.about))
