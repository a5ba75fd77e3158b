"""The rules a plan is made under, for fast lookup: tiers by name, pools by name, GPU types that exist."""

from muster.core.cluster.node_filter import ANY, FilterKey, NodeFilter, filter_key
from muster.core.cluster.tenancy import SHARED, Tenancy, tenancy_of
from muster.core.cluster.tree import Tree, same_place
from muster.core.cluster.windows import ReservedWindow, admitted_kinds
from muster.model.ids import GpuType, PoolName, TeamPath, TierName
from muster.model.limits import TURN_RESERVE_PART
from muster.model.machines.reservation import RESERVATIONS, Reservation
from muster.model.node import Node
from muster.model.policy import Policy, Pool, Tier
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario
from muster.model.spec import JobSpec


class Setting:
    """Everything an operator configured, and the shape of the cluster."""

    __slots__ = (
        "_filters",
        "_refusing",
        "_sharers",
        "_tenancies",
        "gpu_types",
        "gpus",
        "has_whole_gpus",
        "is_strict",
        "policy",
        "pool_names",
        "pools",
        "tier_rank",
        "tiers",
        "tree",
        "windows",
    )

    def __init__(
        self,
        *,
        tree: Tree,
        tiers: tuple[Tier, ...],
        pools: tuple[Pool, ...],
        policy: Policy,
        reservations: tuple[Reservation, ...] = (),
    ) -> None:
        self.tree = tree
        self.tiers = tiers
        self.tier_rank: dict[TierName, int] = {tier.name: rank for rank, tier in enumerate(tiers)}
        self.pools: dict[str, Pool] = {pool.name: pool for pool in pools}
        self.policy = policy
        self.is_strict = policy.is_strict
        """Stored, not computed each time: it is read at every event."""
        self.pool_names: tuple[PoolName, ...] = tuple(sorted(dict.fromkeys(node.pool for node in tree.nodes)))
        self.gpus: dict[tuple[PoolName, GpuType], int] = {}
        for node in tree.nodes:
            if node.gpus:
                kind = (node.pool, node.gpu_type)
                self.gpus[kind] = self.gpus.get(kind, 0) + node.gpus
        self.windows: tuple[ReservedWindow, ...] = tuple(
            ReservedWindow(number, each, tree) for number, each in enumerate(reservations[:RESERVATIONS])
        )
        self._tenancies: dict[tuple[bool, int], Tenancy] = {}
        self._refusing: dict[tuple[int, int], Tenancy] = {}
        self._filters: dict[FilterKey, NodeFilter] = {}
        self._sharers: dict[FilterKey, NodeFilter] = {}
        """The same for jobs that ask for parts of GPUs, where some nodes give none."""
        self.has_whole_gpus = any(node.whole_gpus for node in tree.nodes)
        self.gpu_types: tuple[GpuType, ...] = tuple(sorted({gpu_type: None for _, gpu_type in self.gpus}))

    @classmethod
    def of(cls, scenario: Scenario, tree: Tree) -> "Setting":
        """What a whole situation says of the rules, with its cluster as a tree."""
        return cls(
            tree=tree,
            tiers=scenario.tiers,
            pools=scenario.pools,
            policy=scenario.policy,
            reservations=scenario.reservations,
        )

    def tier(self, name: TierName) -> Tier:
        """The tier called `name`. Admission has made sure that it exists."""
        return self.tiers[self.tier_rank[name]]

    def limit_ms(self, spec: JobSpec) -> int:
        """How long a job may run: its own limit or its tier's."""
        if spec.max_duration_ms is not None:
            return spec.max_duration_ms
        return self.tier(spec.tier).max_duration_ms

    def is_preemptible(self, spec: JobSpec) -> bool:
        """True when neither its file nor its tier protects a job."""
        return spec.preemptible and self.tier(spec.tier).preemptible

    def keeps_place(self, before: Node, after: Node) -> bool:
        """True when a change of a node needs no new index (see `same_place`), for all jobs that were seen until now.

        Nodes say one by one whether they run images. Only jobs with an image look at that.
        """
        looks_at_images = any(key[-1] for key in (*self._filters, *self._sharers))
        return same_place(before, after) and (before.runs_images == after.runs_images or not looks_at_images)

    def nodes_for(self, spec: JobSpec) -> NodeFilter | None:
        """The nodes that a job accepts by their labels and names; None for all. Equal wishes give the same object."""
        key = filter_key(spec)
        if self.has_whole_gpus and spec.shares_gpus:
            return self._filter(self._sharers, ANY if key is None else key, shares_gpus=True)
        return None if key is None else self._filter(self._filters, key, shares_gpus=False)

    def _filter(self, known: dict[FilterKey, NodeFilter], key: FilterKey, *, shares_gpus: bool) -> NodeFilter:
        found = known.get(key)
        if found is None:
            found = known[key] = NodeFilter(key, self.tree, shares_gpus=shares_gpus)
        return found

    def tenancy(self, spec: JobSpec, user: str) -> Tenancy:
        """Next to which tenants the jobs of a user cannot be."""
        if not self.windows:
            return tenancy_of(exclusive=spec.exclusive)
        return self._admitted(exclusive=spec.exclusive, kinds=admitted_kinds(self.windows, spec.team, user))

    def admitted_too(self, tenancy: Tenancy, kinds: int) -> Tenancy:
        """The tenancy of jobs that do not refuse these windows (a mask) either."""
        before = sum([window.kind for window in self.windows if not window.kind & tenancy.refuses])
        return self._admitted(exclusive=bool(tenancy.refuses & SHARED), kinds=before | kinds)

    def _admitted(self, *, exclusive: bool, kinds: int) -> Tenancy:
        """The one object for jobs that these windows admit."""
        known = self._tenancies.get((exclusive, kinds))
        if known is None:
            known = self._tenancies[(exclusive, kinds)] = tenancy_of(exclusive=exclusive, admitted=kinds)
        return known

    def refusing(self, tenancy: Tenancy, refuses: int) -> Tenancy:
        """The same tenancy that cannot be next to these tenants. Equal ones are one object."""
        if tenancy.refuses == refuses:
            return tenancy
        key = (tenancy.adds, refuses)
        known = self._refusing.get(key)
        if known is None:
            known = self._refusing[key] = Tenancy(adds=tenancy.adds, refuses=refuses)
        return known

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """All reservations, by number."""
        return tuple(window.reservation for window in self.windows)

    @property
    def gpu_milli(self) -> int:
        """All GPUs of the cluster, in thousandths, whatever state they are in."""
        return self.tree.gpus * GPU_MILLI

    @property
    def turn_reserve_milli(self) -> int:
        """Free GPUs, in thousandths, that jobs beyond the first band leave to newcomers.

        A few free GPUs save many running jobs a restart.
        """
        return self.tree.gpus // TURN_RESERVE_PART * GPU_MILLI

    def grace_ms(self, spec: JobSpec) -> int:
        """How long a job may take to leave once it is told to."""
        return spec.grace_ms(self.policy.stop_grace_ms)

    def pools_for(self, *, tier: TierName, team: TeamPath, can_resume: bool) -> tuple[PoolName, ...]:
        """The pools that a job may use, by name."""
        if not self.pools:
            return self.pool_names
        return tuple(
            name
            for name in self.pool_names
            if name not in self.pools or self.pools[name].admits(tier=tier, team=team, can_resume=can_resume)
        )

    def knows_speeds(self, spec: JobSpec) -> bool:
        """True when the speed of some GPU type is known for this job."""
        return bool(self.policy.throughput) or any(role.request.throughput for role in spec.roles)

    def is_reserved(self, pool: PoolName) -> bool:
        """True when the pool is kept for some tiers."""
        return pool in self.pools and self.pools[pool].is_reserved
