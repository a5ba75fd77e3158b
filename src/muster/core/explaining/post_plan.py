"""The state after a plan, and why a gang does not fit into it.

Each reason answers a question of the form "would it fit if …". Everything here is a fit check on some capacity.
"""

from collections.abc import Iterable

from muster.core.admission import bare
from muster.core.cluster.capacity import Capacity
from muster.core.cluster.footprint import demand_of_running, footprint_of
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.gang import Choice, Gang, gang_of, with_refusals
from muster.core.cluster.node_filter import node_wishes
from muster.core.cluster.node_use import Footprint
from muster.core.cluster.tenancy import SHARED
from muster.core.cluster.tree import Tree
from muster.core.explaining.obstacles import (
    ACROSS_ENGINES,
    NO_PARTS,
    NO_RUNTIME,
    NOT_ALONE,
    NOT_EMPTY,
    SHARED_ONLY,
    SPOT,
    never,
    other_nodes,
    other_type,
)
from muster.core.explaining.reserved import admitted, reserved
from muster.core.explaining.shortage import shortage
from muster.core.explaining.wording import named, no_more_than
from muster.core.order.quota import account_of
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import Seating, fits, place
from muster.core.snapshot import Snapshot
from muster.core.spares import opened
from muster.model.ids import EngineName, JobId, PoolName
from muster.model.job import Placement, RunningJob, WaitingJob, beyond
from muster.model.machines.reservation import Reservation
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.plan import Plan, Promise, Reason, ReasonCode
from muster.model.policy import Pool
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec, Parallelism, TopologySpec


class PostPlan:
    """What is free, promised and used right after a plan: jobs that it tells to leave still use their GPUs."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self._snapshot = snapshot
        self._setting = snapshot.setting
        tree = snapshot.setting.tree
        self.draft = PlanDraft(snapshot, plan.now_ms)
        """The state after the plan, as planning sees it."""
        self.ledger = self.draft.ledger
        self._horizons = self.draft.horizons
        self._taken: list[Footprint] = []
        self._promised: dict[JobId, tuple[Promise, Footprint]] = {}
        self._asks: JobId | None = None
        """The job with a promise that is answered just now."""
        self._carry_out(plan)
        self._free = self.draft.free
        self._now_ms = plan.now_ms
        self._bare = bare(snapshot)
        self._healthy: Capacity | None = None
        self._idle: Capacity | None = None
        self._spare_names = tuple(str(node.name) for node in tree.nodes if node.spare)
        self._opened: Capacity | None = None

    def _carry_out(self, plan: Plan) -> None:
        """Take what the plan gives to jobs, and note which jobs it tells to leave or to shrink."""
        draft, snapshot, tree = self.draft, self._snapshot, self._setting.tree
        for eviction in plan.evictions:
            draft.evict(snapshot.running[eviction.job], eviction.for_job, eviction.why)
        for resize in plan.resizes:
            job = snapshot.running[resize.job]
            grown, given_up = beyond(resize.workers, job.workers), beyond(job.workers, resize.workers)
            draft.resizes[resize.job] = resize
            draft.projected.charge(account_of(job), demand_of_running(job.spec, given_up, tree), sign=-1)
            self._take(job, grown)
        for start in plan.starts:
            self._take(snapshot.queue.jobs[start.job], start.workers)
        for promise in plan.promises:
            holder = snapshot.queue.jobs.get(promise.job) or snapshot.running.get(promise.job)
            if holder is not None:
                footprint = footprint_of(holder.spec, promise.workers, tree)
                self._promised[promise.job] = (promise, footprint)
                demand = demand_of_running(holder.spec, promise.workers, tree)
                draft.keep(promise, holder, Choice((), demand, 0), footprint)

    def _take(self, job: WaitingJob | RunningJob, workers: Placement) -> None:
        tree, end_ms = self._setting.tree, self.draft.now_ms + self._setting.limit_ms(job.spec)
        self._taken.append(footprint_of(job.spec, workers, tree))
        self._horizons.take(self._taken[-1])
        self.draft.charge(account_of(job), demand_of_running(job.spec, workers, tree), end_ms)

    def possible(self, gang: Gang) -> Gang:
        """The gang with those of its choices that fit on an empty, healthy cluster; with all if none does."""
        choices = tuple(choice for choice in gang.choices if fits(self._bare, gang, choice, gang.widest))
        return gang._replace(choices=choices or gang.choices)

    def promised(self, job_id: JobId) -> Footprint:
        """What a job was promised; empty without a promise."""
        return self._promised[job_id][1] if job_id in self._promised else ()

    def why_not(self, gang: Gang, spec: JobSpec, level: int, end_ms: int) -> tuple[Reason, ...]:
        """All reasons why a gang does not fit now inside one domain of a level; empty when it does."""
        if not gang.choices:
            return (never("no node has what it asks for"),)
        capacity = self._horizons.until(end_ms)
        if self._fits(capacity, gang, level):
            return ()
        if self._setting.windows and self._fits(capacity, admitted(gang, self._setting), level):
            return (reserved(gang, self._setting, self._now_ms, lambda each: self._fits(capacity, each, level)),)
        if self._fits(self._free, gang, level):
            return (self._held_by_others(gang, level, end_ms),)
        if not self._fits(self._bare, gang, gang.widest):
            return (never("it does not fit even on an empty, healthy cluster"),)
        elsewhere = self._where_else(capacity, gang, spec, level)
        is_enough = any(
            reason.code in (ReasonCode.TOPOLOGY, ReasonCode.ENGINE) or reason.rule == NOT_EMPTY for reason in elsewhere
        )
        if is_enough:
            return elsewhere
        shut_out = self._shut_out(gang, level, end_ms)
        unreserved = self._left_by_reservations(self._free, end_ms)
        lack = shortage(self._free, capacity, unreserved, gang, level, tells_reserved=not shut_out)
        return (*elsewhere, lack, *shut_out)

    def _shut_out(self, gang: Gang, level: int, end_ms: int) -> tuple[Reason, ...]:
        """The reservations that would keep the gang waiting even if nothing ran and nothing was promised."""
        if not self._setting.windows:
            return ()
        left = self._left_by_reservations(self._if_idle(), end_ms)
        if self._fits(left, gang, level) or not self._fits(left, admitted(gang, self._setting), level):
            return ()
        named_one = reserved(gang, self._setting, self._now_ms, lambda each: self._fits(left, each, level))
        return (evolve(named_one, rule=NOT_ALONE),)

    def _left_by_reservations(self, capacity: Capacity, end_ms: int) -> Capacity:
        """A capacity without the nodes that are set aside before the end of a gang that starts now."""
        met = [each for each in self._setting.windows if each.reservation.meets(self._now_ms, end_ms)]
        left = capacity.fork() if met else capacity
        for window in met:
            left.take(window.footprint)
            left.forget_marks()
        return left

    def why_not_yet(self, promise: Promise, gang: Gang, spec: JobSpec, level: int, end_ms: int) -> tuple[Reason, ...]:
        """The same for a job that has a promise: its own promise is not in its way."""
        own = self.promised(promise.job)
        self._horizons.lift(own, promise.start_ms)
        self._asks = promise.job
        reasons = self.why_not(gang, spec, level, end_ms)
        self._asks = None
        self._horizons.reserve(own, promise.start_ms)
        return reasons

    def _fits(self, capacity: Capacity, gang: Gang, level: int) -> bool:
        return any(fits(capacity, gang, choice, level) for choice in gang.choices)

    def _where_else(self, capacity: Capacity, gang: Gang, spec: JobSpec, level: int) -> tuple[Reason, ...]:
        """Obstacles that, taken away one at a time, would let the gang start now without breaking a promise.

        Node health is also named when the gang would not fit on the idle cluster as it is.
        """
        found: list[Reason] = []
        widest = self._setting.tree.widest_level
        if (level > widest or any(part.group > 1 for part in gang.parts)) and self._fits(
            capacity, self._anywhere(gang, spec), widest
        ):
            found.append(self._topology(spec, level))
        elif level == widest > 0 and self._fits(capacity, gang, 0):
            found.append(ACROSS_ENGINES)
        if self._spare_names and self._fits(self._without_spares(), gang, level):
            found.append(self._kept_from_it())
        found += self._unhealthy(gang, level)
        if self._fits(capacity, self._other_types(gang, spec), level):
            found.append(other_type(spec))
        if spec.exclusive and self._fits(capacity, self._like(gang, evolve(spec, exclusive=False)), level):
            found.append(SHARED_ONLY)
        if spec.image and self._fits(capacity, self._like(gang, evolve(spec, image="")), level):
            found.append(NO_RUNTIME)
        if self._setting.has_whole_gpus and spec.shares_gpus and self._fits(capacity, self._whole(gang, spec), level):
            found.append(NO_PARTS)
        if node_wishes(spec) and self._fits(capacity, self._any_node(gang, spec), level):
            found.append(other_nodes(spec))
        found += self._other_pools(capacity, gang, spec, level)
        return tuple(found)

    def _anywhere(self, gang: Gang, spec: JobSpec) -> Gang:
        return self._like(gang, evolve(spec, topology=TopologySpec(), parallelism=Parallelism()))

    def _other_types(self, gang: Gang, spec: JobSpec) -> Gang:
        """The gang on combinations of GPU types of which the job does not accept one; no choices if it accepts all."""
        roles = tuple(evolve(role, request=evolve(role.request, gpu_types=())) for role in spec.roles)
        other = self._like(gang, evolve(spec, roles=roles))
        accepted = [role.request.gpu_types for role in spec.roles]
        choices = [
            choice
            for choice in other.choices
            if any(types and ask.gpu_type not in types for types, ask in zip(accepted, choice.asks, strict=True))
        ]
        return other._replace(choices=tuple(choices))

    def _whole(self, gang: Gang, spec: JobSpec) -> Gang:
        """The gang with whole GPUs instead of parts."""
        requests = (
            evolve(role.request, gpu_milli=GPU_MILLI) if role.request.is_fractional else role.request
            for role in spec.roles
        )
        roles = tuple(evolve(role, request=request) for role, request in zip(spec.roles, requests, strict=True))
        return self._like(gang, evolve(spec, roles=roles))

    def _any_node(self, gang: Gang, spec: JobSpec) -> Gang:
        return self._like(gang, evolve(spec, constraint="", nodelist=(), exclude=(), engine=EngineName("")))

    def _like(self, gang: Gang, spec: JobSpec) -> Gang:
        """The gang of another wish of the same user, who is admitted to the same reservations."""
        refuses = gang.choices[0].asks[0].tenancy.refuses
        refuses = refuses | SHARED if spec.exclusive else refuses & ~SHARED
        return with_refusals(gang_of(spec, self._setting), refuses, self._setting)

    def _if_healthy(self) -> Capacity:
        """The same use and promises with every node ready and every GPU in order."""
        if self._healthy is None:
            self._healthy = self._capacity_of(
                node if node.spare else evolve(node, state=NodeState.READY, bad_gpus=node.used_by_others)
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
        promised = [footprint for _, footprint in self._promised.values()]
        for footprint in (*self._snapshot.footprints.values(), *promised, *self._taken):
            capacity.take(footprint)
        for window in self._setting.windows:
            if window.reservation.to_ms > self._now_ms:
                capacity.take(window.footprint)

    def _other_pools(self, capacity: Capacity, gang: Gang, spec: JobSpec, level: int) -> list[Reason]:
        """Pools that the job may not enter and that have room for it."""
        found: list[Reason] = []
        setting = self._setting
        mine = setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
        spot = setting.pools_for(tier=spec.tier, team=spec.team, can_resume=True)
        if spot != mine and _fits_in_pools(capacity, gang, spot, level):
            found.append(SPOT)
        others = tuple(
            name
            for name in setting.pool_names
            if name not in mine and (spec.can_resume or not setting.pools.get(name, _OPEN).spot)
        )
        alone = tuple(name for name in others if _fits_in_pools(capacity, gang, (*mine, name), level))
        closed = alone or (others if _fits_in_pools(capacity, gang, (*mine, *others), level) else ())
        if closed:
            names = named(closed)
            found.append(
                Reason(
                    code=ReasonCode.POOL,
                    message=f"there is room in {names}, which {'does' if len(closed) == 1 else 'do'} not admit",
                    would_help=f"a tier or team that {names} {'admits' if len(closed) == 1 else 'admit'}",
                    about=tuple(map(str, closed)),
                )
            )
        return found

    def _held_by_others(self, gang: Gang, level: int, end_ms: int) -> Reason:
        """The jobs to which the GPUs are promised where the gang would go."""
        seating = self._seating(self._free, gang, level)
        nodes = {use.node: None for use in (seating.footprint if seating is not None else ())}
        promises = [
            promise
            for promise, footprint in self._promised.values()
            if promise.start_ms < end_ms and promise.job != self._asks and any(use.node in nodes for use in footprint)
        ]
        set_aside = self._set_aside(gang, nodes, end_ms)
        starts_ms = [promise.start_ms for promise in promises] + [each.from_ms for each in set_aside]
        in_ms = min(starts_ms, default=end_ms) - self.draft.now_ms
        jobs = tuple(str(promise.job) for promise in promises)
        windows = tuple(each.name for each in set_aside)
        also = f" or set aside by reservation {named(windows)}" if windows else ""
        return Reason(
            code=ReasonCode.HELD_BY_OTHERS,
            message=f"the GPUs it could use are promised to {named(jobs) or 'jobs in front of it'}{also} "
            "before it would be done",
            would_help=f"a max_duration of at most {no_more_than(in_ms)}, so that it is gone in time",
            about=(*jobs, *windows),
        )

    def _set_aside(self, gang: Gang, nodes: dict[int, None], end_ms: int) -> list[Reservation]:
        """Reservations that shut a gang out from one of these nodes before its end."""
        refuses = gang.choices[0].asks[0].tenancy.refuses
        return [
            window.reservation
            for window in self._setting.windows
            if any(window.shuts_out(refuses, node, self._now_ms, end_ms) for node in nodes)
        ]

    def _topology(self, spec: JobSpec, level: int) -> Reason:
        name = self._setting.tree.levels[level]
        if level > self._setting.tree.widest_level:
            message = f"it would fit across the cluster, but not inside one {name}"
            helps = f"dropping `within: {name}`" if spec.topology.within == name else f"waiting for one {name} less"
            return Reason(code=ReasonCode.TOPOLOGY, message=message, would_help=helps)
        nvlink = self._setting.tree.levels[self._setting.tree.nvlink_level]
        return Reason(
            code=ReasonCode.TOPOLOGY,
            message=f"its tensor-parallel groups of {spec.parallelism.tensor} GPUs find no {nvlink} with enough room",
            would_help="a smaller tensor-parallel size",
        )

    def _unhealthy(self, gang: Gang, level: int) -> list[Reason]:
        """The nodes out of order where the gang would go, or without which not even an idle cluster has room."""
        says, ill = "it would fit if {} were in order", self._ill_where_it_goes(self._if_healthy(), gang, level)
        if not ill and not self._fits(self._if_idle(), gang, gang.widest):
            says = "even on an idle cluster it would fit only if {} were in order"
            ill = self._ill_where_it_goes(self._bare, gang, gang.widest)
        helps = "repairing or returning these nodes to service"
        reason = Reason(code=ReasonCode.NODE_HEALTH, message=says.format(named(ill)), would_help=helps, about=ill)
        return [reason] if ill else []

    def _ill_where_it_goes(self, capacity: Capacity, gang: Gang, level: int) -> tuple[str, ...]:
        seating = self._seating(capacity, gang, level)
        nodes = [self._setting.tree.nodes[use.node] for use in seating.footprint] if seating is not None else []
        return tuple(
            str(node.name)
            for node in nodes
            if not node.state.takes_work or set(node.bad_gpus) - set(node.used_by_others)
        )

    def _seating(self, capacity: Capacity, gang: Gang, level: int) -> Seating | None:
        found = (place(capacity, gang, choice, level) for choice in gang.choices)
        return next((seating for seating in found if seating is not None), None)

    def _kept_from_it(self) -> Reason:
        return Reason(
            code=ReasonCode.CAPACITY,
            message="it would fit on nodes that are kept as spares for jobs that lose a node: "
            f"{named(self._spare_names)}",
            would_help="a lower `spares` in the policy, or other nodes coming free",
            about=self._spare_names,
        )


_OPEN = Pool(name=PoolName(""))


def _fits_in_pools(capacity: Capacity, gang: Gang, pools: tuple[PoolName, ...], level: int) -> bool:
    return any(
        fits(capacity, gang, Choice(tuple(ask._replace(pools=pools) for ask in choice.asks), (), 0), level)
        for choice in gang.choices
    )
