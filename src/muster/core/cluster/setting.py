"""The rules a plan is made under, for fast lookup: tiers by name, pools by name, GPU types that exist."""

from muster.core.cluster.tree import Tree
from muster.model.ids import GpuType, PoolName, TeamPath, TierName
from muster.model.limits import TURN_RESERVE_PART
from muster.model.policy import Policy, Pool, Tier
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec


class Setting:
    """Everything an operator configured, and the shape of the cluster."""

    __slots__ = (
        "gpu_types",
        "gpus",
        "is_strict",
        "policy",
        "pool_names",
        "pools",
        "tier_rank",
        "tiers",
        "tree",
    )

    def __init__(self, *, tree: Tree, tiers: tuple[Tier, ...], pools: tuple[Pool, ...], policy: Policy) -> None:
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
        self.gpu_types: tuple[GpuType, ...] = tuple(sorted({gpu_type: None for _, gpu_type in self.gpus}))

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
        return spec.checkpoint.grace_ms if spec.checkpoint is not None else self.policy.stop_grace_ms

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
