"""`admit(spec, snapshot)`: whether a job may enter the queue at all.

A job is refused if it could never run on this cluster as configured, even on empty and healthy nodes, or if it asks for
something that its team may not have. A job that only has to wait is admitted, and the wait is explained.
"""

from collections.abc import Iterable
from math import gcd

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.gang import Gang, gang_key, gang_of
from muster.core.cluster.node_filter import node_wishes
from muster.core.cluster.setting import Setting
from muster.core.cluster.tree import Tree
from muster.core.planning.placing.placement import fits
from muster.core.snapshot import Snapshot
from muster.core.team_bounds import beyond_bounds
from muster.model.ids import GpuType, TeamPath
from muster.model.machines.constraint import labels_named, parse_constraint
from muster.model.node import ClusterSpec, NodeState
from muster.model.plan import ReasonCode
from muster.model.records import Record, evolve
from muster.model.resources import GPU_MILLI, Request, gpus_text, typed_gpus_text
from muster.model.spec import JobSpec

WORDS_NAMED = 20
"""How many nodes or labels a refusal names: enough to find the one that was meant."""


NO_PARTS = "no node here gives a part of a GPU, because the engines of all nodes give whole ones"


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
            key = (spec.roles, spec.team, spec.tier, gang_key(spec))
            if key not in self._known:
                gang = gang_of(spec, self._setting)
                self._known[key] = self._no_such_nodes(spec) or self._no_home(spec, gang) or self._no_room(spec, gang)
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

    def _no_such_nodes(self, spec: JobSpec) -> Rejected | None:
        """The refusal when the job names nodes or labels that do not exist, or when no node is one that it accepts."""
        where, tree = self._setting.nodes_for(spec), self._setting.tree
        if where is None:
            return None
        unknown = [str(name) for name in (*spec.nodelist, *spec.exclude) if name not in tree.index_of]
        if unknown:
            return _unsuitable(f"there is no node {_some(unknown)}; nodes are {_some(map(str, tree.index_of))}")
        engines = sorted({node.engine: None for node in tree.nodes})
        if spec.engine and spec.engine not in engines:
            problem = f"there is no engine {spec.engine}; there are: {_some(engines)}"
            return Rejected(code=ReasonCode.ENGINE, message=problem)
        if where.nodes:
            return None
        if spec.image and not any(node.runs_images for node in tree.nodes):
            advice = "install podman, docker, apptainer or enroot on the nodes, or leave out `image`"
            return Rejected(code=ReasonCode.IMAGE, message=f"no node has a container runtime that works: {advice}")
        if spec.shares_gpus and all(node.whole_gpus for node in tree.nodes):
            return Rejected(code=ReasonCode.ENGINE, message=f"{NO_PARTS}: ask for whole GPUs, or for MIG parts by type")
        there = sorted({label: None for node in tree.nodes for label in node.known_as if label != node.name})
        named = labels_named(parse_constraint(spec.constraint)) if spec.constraint else ()
        missing = [label for label in dict.fromkeys(named) if label not in there and label not in tree.index_of]
        if missing:
            return _unsuitable(f"no node has the label or name {_some(missing)}; labels are {_some(there) or 'none'}")
        wishes = list(node_wishes(spec))
        wishes += ["`image`, which needs a container runtime,"] if spec.image else []
        wishes += ["a part of a GPU, which some engines do not give,"] if spec.shares_gpus else []
        labels = f"; labels are {_some(there)}" if spec.constraint else ""
        return _unsuitable(f"no node is left by {' and '.join(wishes)}{labels}")

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
            return Rejected(code=ReasonCode.GPU_TYPE, message=self._no_such_gpu(spec, wanted))
        return None

    def _no_such_gpu(self, spec: JobSpec, wanted: str) -> str:
        where = self._setting.nodes_for(spec)
        types = self._setting.gpu_types if where is None else where.gpu_types
        if types == ("",):
            return f"the GPUs of this cluster have no type: leave out {wanted}, or name their types in [cluster]"
        nodes = "no node" if where is None else "no node that the job accepts"
        return f"{nodes} has a GPU of type {wanted or 'any'}; there are: {', '.join(types) or 'none'}"

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
        too_large = self._too_large_worker(spec)
        if too_large is not None:
            return too_large
        level = self._setting.tree.levels[gang.widest]
        where = "the whole cluster" if gang.widest == 0 else f"any one {level}"
        if self._setting.nodes_for(spec) is not None:
            where += " of the nodes that it accepts" if gang.widest else ", as far as the job accepts its nodes"
        workers = sum(part.workers for part in gang.parts)
        return Rejected(
            code=ReasonCode.NEVER_FITS,
            message=f"a gang of {workers} {'worker' if workers == 1 else 'workers'} with these resources does not fit "
            f"on {where}, even when empty"
            + (" (each role runs on one GPU type)" if len(allowed) > 1 else "")
            + self._largest_that_fits(spec),
        )

    def _largest_that_fits(self, spec: JobSpec) -> str:
        """How many such workers would fit, or what of a worker no node has enough of; empty for several roles."""
        if len(spec.roles) > 1:
            return ""
        role = spec.roles[0]
        fewest = _workers_of_a_group(spec)
        low, high = 0, (role.workers_min - 1) // fewest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._holds(spec, middle * fewest) else (low, middle - 1)
        if low:
            return f"; at most {low * fewest} such {'worker does' if low * fewest == 1 else 'workers do'}"
        return self._scarce(role.request)

    def _holds(self, spec: JobSpec, workers: int) -> bool:
        """True when a gang of so many workers fits on the empty cluster."""
        role = evolve(spec.roles[0], workers_min=workers, workers_max=workers)
        gang = gang_of(evolve(spec, roles=(role,)), self._setting)
        return any(fits(self._bare, gang, choice, gang.widest) for choice in gang.choices)

    def _scarce(self, request: Request) -> str:
        """What a worker needs more of than any node has."""
        nodes, short = self._setting.tree.nodes, []
        for asked, most, words in (
            (request.cpu_milli, max(node.cpu_milli for node in nodes), _cpus),
            (request.memory_bytes, max(node.memory_bytes for node in nodes), _memory),
            (request.disk_bytes, max(node.disk_bytes for node in nodes), _disk),
        ):
            if asked > most:
                short.append(f"a worker needs {words(asked)}, and the largest node has {words(most)}")
        return "".join(f"; {each}" for each in short) or "; not even one worker does"

    def _too_large_worker(self, spec: JobSpec) -> Rejected | None:
        """The refusal when one worker needs more GPUs than any node has that it may use."""
        pools = self._setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume)
        for role in spec.roles:
            types = role.request.gpu_types
            sizes = [
                node.gpus
                for node in self._setting.tree.nodes
                if node.pool in pools and (not types or node.gpu_type in types)
            ]
            largest = max(sizes, default=0)
            if role.request.gpu_milli > largest * GPU_MILLI:
                wanted, of_these = gpus_text(role.request.gpu_milli), f" with {' or '.join(types)}" if types else ""
                return Rejected(
                    code=ReasonCode.NEVER_FITS,
                    message=f"each worker needs {wanted} GPUs on one node, and the largest node{of_these} has "
                    f"{largest}; ask for more workers with fewer GPUs each",
                )
        return None

    def _above_limit(self, gang: Gang, limits: tuple[tuple[TeamPath, GpuType, int], ...]) -> Rejected:
        amounts = dict(gang.choices[0].demand)
        team, gpu_type, limit_milli = next(limit for limit in limits if amounts.get(limit[1], 0) > limit[2])
        return Rejected(
            code=ReasonCode.QUOTA_LIMIT,
            message=f"needs {typed_gpus_text(amounts[gpu_type], gpu_type)} and team {team} may never use more than "
            f"{gpus_text(limit_milli)}",
        )


def _workers_of_a_group(spec: JobSpec) -> int:
    """The fewest workers over which the model can be split, and of which the gang is a multiple."""
    ranks = spec.parallelism.tensor * spec.parallelism.pipeline
    gpus = max(spec.roles[0].request.gpu_milli // GPU_MILLI, 1)
    return int(ranks // gcd(ranks, gpus))


def _cpus(milli: int) -> str:
    """CPUs in words."""
    return f"{gpus_text(milli)} CPUs"


def _memory(size_bytes: int) -> str:
    """Memory in words."""
    return f"{_size(size_bytes)} of memory"


def _disk(size_bytes: int) -> str:
    """Disk in words."""
    return f"{_size(size_bytes)} of disk"


def _size(size_bytes: int) -> str:
    for unit, size in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size_bytes >= size:
            whole, tenth = divmod(size_bytes * 10 // size, 10)
            return f"{whole}.{tenth} {unit}" if tenth else f"{whole} {unit}"
    return f"{size_bytes} bytes"


def _unsuitable(message: str) -> Rejected:
    return Rejected(code=ReasonCode.CONSTRAINT, message=message)


def _some(words: Iterable[str]) -> str:
    """The first of these words, and how many more there are."""
    every = list(words)
    more = len(every) - WORDS_NAMED
    return ", ".join(every[:WORDS_NAMED]) + (f" and {more} more" if more > 0 else "")


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
