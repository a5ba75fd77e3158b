"""`admit(spec, snapshot)`: whether a job may enter the queue at all.

A job is refused if it could never run on this cluster as configured, even on empty and healthy nodes, or if it asks for
something that its team may not have. A job that only has to wait is admitted, and the wait is explained.
"""

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.gang import Gang, gang_of
from muster.core.cluster.setting import Setting
from muster.core.cluster.tree import Tree
from muster.core.planning.placing.placement import fits
from muster.core.snapshot import Snapshot
from muster.core.team_bounds import beyond_bounds
from muster.model.ids import GpuType, TeamPath
from muster.model.node import ClusterSpec, NodeState
from muster.model.plan import ReasonCode
from muster.model.records import Record, evolve
from muster.model.resources import gpus_text
from muster.model.spec import JobSpec


class Admitted(Record, frozen=True, kw_only=True):
    """The job may wait for its turn."""

    spec: JobSpec


class Rejected(Record, frozen=True, kw_only=True):
    """The job can never run here as things are configured."""

    code: ReasonCode
    message: str


class Gate:
    """Decides admission for one configuration. Remembers the answer for equal gangs."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._setting = snapshot.setting
        self._bare = bare(snapshot)
        self._known: dict[tuple[object, ...], Rejected | None] = {}

    def admit(self, spec: JobSpec) -> Admitted | Rejected:
        """Admit a job, or say why it can never run."""
        refusal = self._unknown_names(spec) or self._not_allowed(spec)
        if refusal is None:
            key = (spec.roles, spec.parallelism, spec.topology, spec.team, spec.tier, spec.can_resume)
            if key not in self._known:
                gang = gang_of(spec, self._setting)
                self._known[key] = self._no_home(spec, gang) or self._no_room(spec, gang)
            refusal = self._known[key]
        return Admitted(spec=spec) if refusal is None else refusal

    def _unknown_names(self, spec: JobSpec) -> Rejected | None:
        if spec.tier not in self._setting.tier_rank:
            names = ", ".join(self._setting.tier_rank)
            return Rejected(code=ReasonCode.NEVER_FITS, message=f"there is no tier {spec.tier}; tiers are {names}")
        for level in (spec.topology.within, spec.topology.prefer):
            if level is not None and level not in self._setting.tree.levels:
                names = ", ".join(self._setting.tree.levels[1:])
                return Rejected(
                    code=ReasonCode.TOPOLOGY, message=f"the cluster has no level {level}; its levels are {names}"
                )
        return None

    def _not_allowed(self, spec: JobSpec) -> Rejected | None:
        """The refusal when the team may not ask for such a job."""
        problem = beyond_bounds(spec, self._snapshot.ledger.teams)
        return None if problem is None else Rejected(code=ReasonCode.QUOTA_LIMIT, message=problem)

    def _no_home(self, spec: JobSpec, gang: Gang) -> Rejected | None:
        """The refusal when no pool admits the job, or no node has a GPU it accepts."""
        setting = self._setting
        if not setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume):
            if setting.pools_for(tier=spec.tier, team=spec.team, can_resume=True):
                return Rejected(
                    code=ReasonCode.SPOT,
                    message="only spot pools admit this job, and they take only jobs with a checkpoint",
                )
            return Rejected(code=ReasonCode.POOL, message=f"no pool admits tier {spec.tier} of team {spec.team}")
        if not gang.choices:
            wanted = ", ".join(sorted(dict.fromkeys(kind for role in spec.roles for kind in role.request.gpu_types)))
            there = ", ".join(setting.gpu_types) or "none"
            return Rejected(
                code=ReasonCode.GPU_TYPE, message=f"no node has a GPU of type {wanted or 'any'}; there are: {there}"
            )
        return None

    def _no_room(self, spec: JobSpec, gang: Gang) -> Rejected | None:
        """The refusal when, on every GPU type it accepts, the gang is above a team limit or does not fit."""
        limits = self._snapshot.ledger.limits(spec.team)
        allowed = [
            choice
            for choice in gang.choices
            if all(dict(choice.demand).get(gpu_type, 0) <= limit_milli for _, gpu_type, limit_milli in limits)
        ]
        if not allowed:
            return self._above_limit(gang, limits)
        if any(fits(self._bare, gang, choice, gang.widest) for choice in allowed):
            return None
        level = self._setting.tree.levels[gang.widest]
        where = "the whole cluster" if gang.widest == 0 else f"any one {level}"
        workers = sum(part.workers for part in gang.parts)
        return Rejected(
            code=ReasonCode.NEVER_FITS,
            message=f"a gang of {workers} workers with these resources does not fit on {where}, even when empty"
            + (" (each role runs on one GPU type)" if len(allowed) > 1 else ""),
        )

    def _above_limit(self, gang: Gang, limits: tuple[tuple[TeamPath, GpuType, int], ...]) -> Rejected:
        amounts = dict(gang.choices[0].demand)
        team, gpu_type, limit_milli = next(limit for limit in limits if amounts.get(limit[1], 0) > limit[2])
        return Rejected(
            code=ReasonCode.QUOTA_LIMIT,
            message=f"needs {gpus_text(amounts[gpu_type])} GPUs ({gpu_type}) and team {team} may never use more than "
            f"{gpus_text(limit_milli)}",
        )


def admit(spec: JobSpec, snapshot: Snapshot) -> Admitted | Rejected:
    """Admit one job, or say why it can never run."""
    return Gate(snapshot).admit(spec)


def bare(snapshot: Snapshot) -> Capacity:
    """The cluster with nothing running on it and every node and GPU healthy."""
    setting: Setting = snapshot.setting
    nodes = tuple(evolve(node, state=NodeState.READY, bad_gpus=()) for node in setting.tree.nodes)
    cluster = snapshot.cluster
    tree = Tree(ClusterSpec(levels=cluster.levels, nodes=nodes, nvlink_level=cluster.nvlink_level))
    return Capacity.of(tree, FreeStates(), setting.pools)
