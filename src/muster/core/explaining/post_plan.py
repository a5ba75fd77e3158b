"""The state after a plan, and why a gang does not fit into it.

Each reason answers a question of the form "would it fit if …". Everything here is a fit check on some capacity.
"""

from collections.abc import Iterable

from muster.core.admission import bare
from muster.core.cluster.capacity import Capacity, Footprint
from muster.core.cluster.footprint import demand_of_running, footprint_of
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.gang import Choice, Gang, gang_of
from muster.core.cluster.horizons import Horizons
from muster.core.cluster.tree import Tree
from muster.core.order.quota import account_of
from muster.core.planning.placing.placement import fits
from muster.core.snapshot import Snapshot
from muster.core.spares import opened
from muster.model.ids import PoolName
from muster.model.job import Placement
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.plan import Plan, Promise, Reason, ReasonCode
from muster.model.policy import Pool
from muster.model.records import evolve
from muster.model.resources import gpus_text
from muster.model.spec import JobSpec, Parallelism, TopologySpec


class PostPlan:
    """What is free, promised and used right after a plan: jobs that it tells to leave still use their GPUs."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self._snapshot = snapshot
        self._setting = snapshot.setting
        tree = snapshot.setting.tree
        self.ledger = snapshot.ledger.fork()
        free = snapshot.capacity.fork()
        taken: list[tuple[JobSpec, Placement]] = []
        for start in plan.starts:
            job = snapshot.queue.jobs[start.job]
            spec = job.spec
            taken.append((spec, start.workers))
            free.take(footprint_of(spec, start.workers, tree))
            self.ledger.charge(account_of(job), demand_of_running(spec, start.workers, tree))
        self._taken = taken
        self._free = free
        self._horizons = Horizons(free)
        self._promised: list[Footprint] = []
        for promise in plan.promises:
            holder = snapshot.queue.jobs.get(promise.job) or snapshot.running.get(promise.job)
            if holder is not None:
                self._promised.append(footprint_of(holder.spec, promise.workers, tree))
                self._horizons.reserve(self._promised[-1], promise.start_ms)
        self._bare = bare(snapshot)
        self._healthy: Capacity | None = None
        self._idle: Capacity | None = None
        self._spares = [node for node in tree.nodes if node.spare]
        self._opened: Capacity | None = None

    def why_not(self, gang: Gang, spec: JobSpec, level: int, end_ms: int) -> tuple[Reason, ...]:
        """All reasons why a gang does not fit now inside one domain of a level; empty when it does."""
        if not gang.choices:
            return (_never("no node has what it asks for"),)
        capacity = self._horizons.until(end_ms)
        if self._fits(capacity, gang, level):
            return ()
        if self._fits(self._free, gang, level):
            return (_HELD_BY_OTHERS,)
        if not self._fits(self._bare, gang, gang.widest):
            return (_never("it does not fit even on an empty, healthy cluster"),)
        elsewhere = self._where_else(capacity, gang, spec, level)
        scattered = any(reason.code is ReasonCode.TOPOLOGY for reason in elsewhere)
        return elsewhere if scattered else (*elsewhere, self._how_much(capacity, gang))

    def why_not_yet(self, promise: Promise, gang: Gang, spec: JobSpec, level: int, end_ms: int) -> tuple[Reason, ...]:
        """The same for a job that has a promise: its own promise is not in its way."""
        own = footprint_of(spec, promise.workers, self._setting.tree)
        self._horizons.lift(own, promise.start_ms)
        reasons = self.why_not(gang, spec, level, end_ms)
        self._horizons.reserve(own, promise.start_ms)
        return reasons

    def _fits(self, capacity: Capacity, gang: Gang, level: int) -> bool:
        return any(fits(capacity, gang, choice, level) for choice in gang.choices)

    def _where_else(self, capacity: Capacity, gang: Gang, spec: JobSpec, level: int) -> tuple[Reason, ...]:
        """Obstacles that, taken away one at a time, would let the gang start now without breaking a promise.

        Node health is also named when the gang would not fit on the idle cluster as it is.
        """
        found: list[Reason] = []
        if (level > 0 or any(part.group > 1 for part in gang.parts)) and self._fits(capacity, self._anywhere(spec), 0):
            found.append(self._topology(spec, level))
        if self._spares and self._fits(self._without_spares(), gang, level):
            found.append(self._kept_from_it())
        if self._fits(self._if_healthy(), gang, level) or not self._fits(self._if_idle(), gang, gang.widest):
            found.append(self._unhealthy())
        if any(role.request.gpu_types for role in spec.roles) and self._fits(capacity, self._any_type(spec), level):
            found.append(_other_type(spec))
        found += self._other_pools(capacity, gang, spec, level)
        return tuple(found)

    def _anywhere(self, spec: JobSpec) -> Gang:
        loose = evolve(spec, topology=TopologySpec(), parallelism=Parallelism())
        return gang_of(loose, self._setting)

    def _any_type(self, spec: JobSpec) -> Gang:
        roles = tuple(evolve(role, request=evolve(role.request, gpu_types=())) for role in spec.roles)
        return gang_of(evolve(spec, roles=roles), self._setting)

    def _if_healthy(self) -> Capacity:
        """The same use and promises with every node ready and every GPU in order."""
        if self._healthy is None:
            self._healthy = self._capacity_of(
                node if node.spare else evolve(node, state=NodeState.READY, bad_gpus=())
                for node in self._setting.tree.nodes
            )
            self._occupy(self._healthy)
        return self._healthy

    def _without_spares(self) -> Capacity:
        """The same use and promises with no node kept as a spare."""
        if self._opened is None:
            self._opened = self._capacity_of(map(opened, self._setting.tree.nodes))
            self._occupy(self._opened)
        return self._opened

    def _if_idle(self) -> Capacity:
        """Nothing running, promised or kept, with all nodes in their present state of health."""
        if self._idle is None:
            self._idle = self._capacity_of(map(opened, self._setting.tree.nodes))
        return self._idle

    def _capacity_of(self, nodes: Iterable[Node]) -> Capacity:
        """Idle nodes in place of the present ones."""
        cluster = self._snapshot.cluster
        tree = Tree(ClusterSpec(levels=cluster.levels, nodes=tuple(nodes), nvlink_level=cluster.nvlink_level))
        return Capacity.of(tree, FreeStates(), self._setting.pools)

    def _occupy(self, capacity: Capacity) -> None:
        """Take what is used and promised after the plan."""
        for footprint in (*self._snapshot.footprints.values(), *self._promised):
            capacity.take(footprint)
        for spec, workers in self._taken:
            capacity.take(footprint_of(spec, workers, self._setting.tree))

    def _other_pools(self, capacity: Capacity, gang: Gang, spec: JobSpec, level: int) -> list[Reason]:
        """Pools that the job may not enter and that have room for it."""
        found: list[Reason] = []
        setting = self._setting
        mine = setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
        spot = setting.pools_for(tier=spec.tier, team=spec.team, can_resume=True)
        if spot != mine and _fits_in_pools(capacity, gang, spot, level):
            found.append(_SPOT)
        others = tuple(
            name for name in setting.pool_names if spec.can_resume or not setting.pools.get(name, _OPEN).spot
        )
        if others != mine and _fits_in_pools(capacity, gang, others, level):
            closed = ", ".join(name for name in others if name not in mine)
            found.append(
                Reason(
                    code=ReasonCode.POOL,
                    message=f"there is room in {closed}, which does not admit",
                    would_help=f"a tier or team that {closed} admits",
                )
            )
        return found

    def _topology(self, spec: JobSpec, level: int) -> Reason:
        name = self._setting.tree.levels[level]
        if level > 0:
            message = f"it would fit across the cluster, but not inside one {name}"
            helps = f"dropping `within: {name}`" if spec.topology.within == name else f"waiting for one {name} less"
            return Reason(code=ReasonCode.TOPOLOGY, message=message, would_help=helps)
        nvlink = self._setting.tree.levels[self._setting.tree.nvlink_level]
        return Reason(
            code=ReasonCode.TOPOLOGY,
            message=f"its tensor-parallel groups of {spec.parallelism.tensor} GPUs find no {nvlink} with enough room",
            would_help="a smaller tensor-parallel size",
        )

    def _unhealthy(self) -> Reason:
        closed = (node for node in self._setting.tree.nodes if not node.state.takes_work or node.bad_gpus)
        return Reason(
            code=ReasonCode.NODE_HEALTH,
            message=f"it would fit if {_named([node for node in closed if not node.spare])} were in order",
            would_help="repairing or returning these nodes to service",
        )

    def _kept_from_it(self) -> Reason:
        return Reason(
            code=ReasonCode.CAPACITY,
            message=f"it would fit on nodes that are kept as spares for jobs that lose a node: {_named(self._spares)}",
            would_help="a lower `spares` in the policy, or other nodes coming free",
        )

    def _how_much(self, capacity: Capacity, gang: Gang) -> Reason:
        """Whether too few GPUs are free, or enough that do not lie together. The gang is known not to fit."""
        shortages = []
        for at, choice in enumerate(gang.choices):
            amounts = dict(choice.demand)
            missing_of = [
                (amounts[ask.gpu_type] - self._free.free_milli_for(ask), number)
                for number, ask in enumerate(choice.asks)
                if ask.gpu_type is not None
            ]
            if missing_of:
                shortages.append((*max(missing_of), at))
        if not shortages:
            return _NO_CPUS
        missing, number, at = min(shortages, key=lambda shortage: shortage[0])
        ask = gang.choices[at].asks[number]
        wanted = sum(milli for gpu_type, milli in gang.choices[at].demand if gpu_type == ask.gpu_type)
        label = str(ask.gpu_type) or "GPU"
        free = wanted - missing
        if missing <= 0:
            lacks_cpus = self._fits(self._free, _gpus_only(gang), 0)
            return Reason(
                code=ReasonCode.FRAGMENTED,
                message=f"{gpus_text(free)} {label} are free, but "
                + (
                    "the nodes they are on lack the CPUs, memory or disk it asks for"
                    if lacks_cpus
                    else "not where its workers find enough of them together"
                ),
                would_help="fewer CPUs, less memory or disk per worker"
                if lacks_cpus
                else "smaller workers, or whole nodes coming free",
            )
        promised = free - capacity.free_milli_for(ask)
        return Reason(
            code=ReasonCode.CAPACITY,
            message=f"needs {gpus_text(wanted)} {label}, {gpus_text(free)} are free"
            + (f" and {gpus_text(promised)} of these promised to others" if promised > 0 else ""),
            would_help=f"{gpus_text(missing)} more {label} coming free",
        )


_OPEN = Pool(name=PoolName(""))

_HELD_BY_OTHERS = Reason(
    code=ReasonCode.HELD_BY_OTHERS,
    message="the GPUs it could use are promised to jobs in front of it before it would be done",
    would_help="a shorter max_duration, so that it is gone in time",
)

_SPOT = Reason(
    code=ReasonCode.SPOT,
    message="there is room on spot nodes, which take only jobs that can resume",
    would_help="a `checkpoint` in the job file",
)

_NO_CPUS = Reason(
    code=ReasonCode.CAPACITY,
    message="no node has enough free CPUs, memory or disk",
    would_help="smaller workers, or jobs on these nodes ending",
)


def _named(nodes: list[Node]) -> str:
    return ", ".join(node.name for node in nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")


def _fits_in_pools(capacity: Capacity, gang: Gang, pools: tuple[PoolName, ...], level: int) -> bool:
    return any(
        fits(capacity, gang, Choice(tuple(ask._replace(pools=pools) for ask in choice.asks), (), 0), level)
        for choice in gang.choices
    )


def _gpus_only(gang: Gang) -> Gang:
    """The same gang asking for nothing but GPUs."""
    return gang._replace(
        choices=tuple(
            choice._replace(asks=tuple(ask._replace(cpu_milli=0, memory_bytes=0, disk_bytes=0) for ask in choice.asks))
            for choice in gang.choices
        )
    )


def _never(message: str) -> Reason:
    return Reason(code=ReasonCode.NEVER_FITS, message=message, would_help="a smaller gang, or a larger cluster")


def _other_type(spec: JobSpec) -> Reason:
    wanted = ", ".join(dict.fromkeys(kind for role in spec.roles for kind in role.request.gpu_types))
    return Reason(
        code=ReasonCode.GPU_TYPE,
        message=f"it accepts only {wanted}; another type has room for it now",
        would_help="accepting more GPU types",
    )
