"""A gang as placement sees it: which asks, how many of each, on which GPU type, inside which level.

Gangs that are equal in all of this are one object, so that what was found out for one gang holds for all of them.
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

from muster.core.cluster.free_states import Ask
from muster.core.cluster.node_filter import NodeFilter, filter_key
from muster.core.cluster.setting import Setting
from muster.core.cluster.tenancy import Tenancy
from muster.core.cluster.tree import Tree
from muster.model.ids import GpuType, PoolName
from muster.model.job import Placement, RunningJob
from muster.model.policy import Packing
from muster.model.resources import GPU_MILLI, Request
from muster.model.spec import JobSpec, RoleSpec, TopologySpec
from muster.model.team import ANY_TYPE

TYPE_CHOICES = 16
"""How many combinations of GPU types are tried for a gang whose roles accept several types."""

Demand = tuple[tuple[GpuType, int], ...]
"""GPU thousandths per type, and their sum under `*`: what quota is charged."""


class RolePart(NamedTuple):
    """One role of a gang at a given size."""

    role: str
    workers: int
    group: int
    """How many workers make one tensor-parallel group. They stay together inside the NVLink level."""


class Choice(NamedTuple):
    """One way to serve a gang: one ask per role, on the chosen GPU types and pools."""

    asks: tuple[Ask, ...]
    demand: Demand
    speed_milli: int


class Gang(NamedTuple):
    """What has to be placed, whole or not at all."""

    parts: tuple[RolePart, ...]
    choices: tuple[Choice, ...]
    """Preferred choice first; empty when the cluster has no GPU that the job accepts or no pool admits the job."""
    widest: int
    """The level whose domain the gang may not leave; 0 is the whole cluster."""
    prefer: int
    """The level that the gang prefers to stay in, and waits for, until the preference relaxes; 0 means none."""

    def level_at(self, at_ms: int, relaxes_ms: int) -> int:
        """The level that limits how far the gang may spread at this time. A preference holds until it relaxes."""
        return self.widest if at_ms >= relaxes_ms else self.prefer

    def choices_on(self, workers: Placement, tree: Tree) -> list[Choice]:
        """The ways to serve the gang on the GPU types that these workers have."""
        types = {worker.role: tree.nodes[tree.index_of[worker.node]].gpu_type for worker in workers}
        return [
            choice
            for choice in self.choices
            if all(
                ask.gpu_type is None or ask.gpu_type == types.get(part.role)
                for part, ask in zip(self.parts, choice.asks, strict=True)
            )
        ]


def gang_of(spec: JobSpec, setting: Setting, sizes: dict[str, int] | None = None, *, user: str = "") -> Gang:
    """The gang of a job that a user submitted, at its smallest size or at the given size per role."""
    pools = setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
    parts = tuple(
        RolePart(
            role=role.name,
            workers=role.workers_min if sizes is None else sizes[role.name],
            group=tensor_group(role.request, spec.parallelism.tensor),
        )
        for role in spec.roles
    )
    widest, prefer = _levels(spec.topology, setting)
    return Gang(
        parts=parts,
        choices=_choices(spec, parts, pools, setting, setting.tenancy(spec, user)),
        widest=widest,
        prefer=prefer,
    )


def running_gang(job: RunningJob, setting: Setting) -> Gang:
    """The gang of a running job at its present size."""
    sizes = {role.name: 0 for role in job.spec.roles}
    for worker in job.workers:
        sizes[worker.role] += 1
    return gang_of(job.spec, setting, sizes, user=job.user)


def gang_key(spec: JobSpec) -> tuple[object, ...]:
    """Jobs with equal keys, in one tier and team and admitted to the same reservations, have equal gangs."""
    return (
        tuple((role.name, role.workers_min, role.request) for role in spec.roles),
        spec.parallelism,
        spec.topology,
        spec.can_resume,
        filter_key(spec),
        spec.exclusive,
    )


def with_refusals(gang: Gang, refuses: int, setting: Setting) -> Gang:
    """The same gang that cannot be next to these tenants (a mask)."""
    return with_tenancy(gang, setting.refusing(gang.choices[0].asks[0].tenancy, refuses))


def with_tenancy(gang: Gang, tenancy: Tenancy) -> Gang:
    """The same gang with another tenancy. All asks of a gang have one in common."""
    return gang._replace(
        choices=tuple(
            choice._replace(asks=tuple(ask._replace(tenancy=tenancy) for ask in choice.asks)) for choice in gang.choices
        )
    )


def tensor_group(request: Request, tensor: int) -> int:
    """How many workers make up one tensor-parallel group."""
    if request.gpu_milli < GPU_MILLI:
        return 1
    return max(1, tensor // (request.gpu_milli // GPU_MILLI))


def _levels(topology: TopologySpec, setting: Setting) -> tuple[int, int]:
    tree = setting.tree
    widest = tree.level_of(topology.within) if topology.within is not None else tree.widest_level
    prefer = tree.level_of(topology.prefer) if topology.prefer is not None else 0
    return widest, max(prefer, widest)


def _choices(
    spec: JobSpec, parts: tuple[RolePart, ...], pools: tuple[PoolName, ...], setting: Setting, tenancy: Tenancy
) -> tuple[Choice, ...]:
    """Open pools before reserved ones, faster types before slower ones, then in the order the job lists them."""
    open_pools = tuple(pool for pool in pools if not setting.is_reserved(pool))
    ladders = [ladder for ladder in (open_pools, pools) if ladder]
    if open_pools == pools:
        ladders = ladders[:1]
    return tuple(
        choice
        for ladder in ladders
        for choice in sorted(_by_type(spec, parts, ladder, setting, tenancy), key=_slowest_last)
    )


def _slowest_last(choice: Choice) -> int:
    return -choice.speed_milli


def _by_type(
    spec: JobSpec, parts: tuple[RolePart, ...], pools: tuple[PoolName, ...], setting: Setting, tenancy: Tenancy
) -> Iterator[Choice]:
    roles, where = spec.roles, setting.nodes_for(spec)
    there = setting.gpu_types if where is None else where.gpu_types
    accepted = [_accepted_types(role.request, there) for role in roles]
    place = _Where(
        pools=pools,
        takes_shared=_takes_shared(roles, setting),
        tenancy=tenancy,
        nodes=where,
        is_spread=spec.topology.spread,
    )
    for types in islice(product(*accepted), TYPE_CHOICES):
        asks = tuple(_ask(role.request, gpu_type, place) for role, gpu_type in zip(roles, types, strict=True))
        speeds = [
            _speed_milli(role.request, gpu_type, setting)
            for role, gpu_type in zip(roles, types, strict=True)
            if gpu_type is not None
        ]
        yield Choice(asks=asks, demand=demand_of(parts, asks), speed_milli=min(speeds, default=GPU_MILLI))


def _accepted_types(request: Request, there: tuple[GpuType, ...]) -> tuple[GpuType | None, ...]:
    if not request.gpu_milli:
        return (None,)
    if not request.gpu_types:
        return there
    return tuple(gpu_type for gpu_type in request.gpu_types if gpu_type in there)


def _takes_shared(roles: tuple[RoleSpec, ...], setting: Setting) -> bool:
    """False for a gang that is too large for any one node, under best-fit packing: it gets only empty nodes.

    This applies only to a gang with one role and a fixed size. The workers of other gangs would block each other.
    """
    if setting.policy.packing is not Packing.BEST_FIT or len(roles) > 1 or roles[0].workers_min < roles[0].workers_max:
        return True
    return roles[0].workers_min * roles[0].request.gpu_milli <= setting.tree.largest_node_gpus * GPU_MILLI


class _Where(NamedTuple):
    """What all asks of a job have in common: where its workers may go."""

    pools: tuple[PoolName, ...]
    takes_shared: bool
    tenancy: Tenancy
    nodes: NodeFilter | None
    is_spread: bool


def _ask(request: Request, gpu_type: GpuType | None, place: _Where) -> Ask:
    return Ask(
        gpu_milli=request.gpu_milli,
        gpu_type=gpu_type,
        cpu_milli=request.cpu_milli,
        memory_bytes=request.memory_bytes,
        disk_bytes=request.disk_bytes,
        pools=place.pools,
        takes_shared=place.takes_shared,
        tenancy=place.tenancy,
        where=place.nodes,
        is_spread=place.is_spread,
    )


def _speed_milli(request: Request, gpu_type: GpuType, setting: Setting) -> int:
    for table in (request.throughput, setting.policy.throughput):
        for name, speed_milli in table:
            if name == gpu_type:
                return speed_milli
    return GPU_MILLI


def demand_of(parts: tuple[RolePart, ...], asks: tuple[Ask, ...]) -> Demand:
    """The quota that a gang uses."""
    total: dict[GpuType, int] = {}
    for part, ask in zip(parts, asks, strict=True):
        if ask.gpu_type is not None:
            milli = part.workers * ask.gpu_milli
            total[ask.gpu_type] = total.get(ask.gpu_type, 0) + milli
            total[ANY_TYPE] = total.get(ANY_TYPE, 0) + milli
    return tuple(sorted(total.items()))
