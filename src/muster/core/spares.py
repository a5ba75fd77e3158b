"""Spares: which whole nodes are kept free, and which jobs that lost a node start on them or get workers there.

Planning sees a spare as a node that takes no work (`Node.spare`). A spare delays other jobs, but it never keeps a job
from running for good: while a job waits that does not fit on the idle cluster beside the spares, they are given up.
"""

from collections.abc import Iterable

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.tree import Tree
from muster.core.order.queueing import JobClass
from muster.core.planning import plan
from muster.core.planning.placing.placement import fits
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, NodeName
from muster.model.job import RunningJob, WaitingJob
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.plan import Basis, Resize, Start
from muster.model.policy import Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario

Spares = tuple[NodeName, ...]


class SpareChoice:
    """Chooses the nodes that are kept. What fits beside them is remembered until a node or the rules change."""

    def __init__(self) -> None:
        self._made_for: tuple[object, list[Node]] = (None, [])
        self._idle: dict[Spares, Capacity] = {}
        self._has_room: dict[tuple[Spares, int], bool] = {}

    def choose(self, snapshot: Snapshot, present: Spares) -> Spares:
        """The nodes to keep from now on. Choosing again changes nothing.

        Present spares stay spares. If they are in the way of a waiting job for good, other nodes are tried, then none.
        """
        made_for = (snapshot.setting, snapshot.setting.tree.nodes)
        if self._made_for[0] is not made_for[0] or self._made_for[1] != made_for[1]:
            self._made_for = (made_for[0], list(made_for[1]))
            self._idle, self._has_room = {}, {}
        for first in (present, ()):
            spares = with_free_nodes(snapshot, first)
            if not self._are_in_the_way(snapshot, spares):
                return spares
        return ()

    def _are_in_the_way(self, snapshot: Snapshot, spares: Spares) -> bool:
        """True when a waiting job fits on the idle cluster, and does not without these nodes."""
        return bool(spares) and any(
            self._is_room(snapshot, group, ()) and not self._is_room(snapshot, group, spares)
            for group in snapshot.queue.classes()
        )

    def _is_room(self, snapshot: Snapshot, group: JobClass, spares: Spares) -> bool:
        key = (spares, group.gang_number)
        known = self._has_room.get(key)
        if known is None:
            if spares not in self._idle:
                self._idle[spares] = _idle_beside(snapshot, spares)
            gang, idle = group.gang, self._idle[spares]
            known = any(fits(idle, gang, choice, gang.widest) for choice in gang.choices)
            self._has_room[key] = known
        return known


def with_free_nodes(snapshot: Snapshot, present: Spares) -> Spares:
    """Present spares that can still be used, and free nodes until there are as many as the policy says.

    The kind of node with the most GPUs comes first, because most jobs can use it, and of one kind the last node of the
    topology. A node that is promised to a job comes after all others, and is no spare if jobs leave it for that job.
    """
    count, index_of = snapshot.setting.policy.spares, snapshot.setting.tree.index_of
    kept = tuple(name for name in present if name in index_of and _is_free(snapshot, index_of[name]))[:count]
    if len(kept) == count:
        return kept
    promised = {node: promise.basis for promise in snapshot.promises.values() for node in promise.nodes}
    gpus_of = _gpus_by_kind(snapshot.setting.tree.nodes)
    found = [
        (node.name in promised, -gpus_of[_kind(node)], -index, node.name)
        for index, node in enumerate(snapshot.setting.tree.nodes)
        if node.name not in kept and promised.get(node.name) is not Basis.DEPARTURES and _is_free(snapshot, index)
    ]
    return (*kept, *(name for *_, name in sorted(found)[: count - len(kept)]))


def starts_on_spares(snapshot: Snapshot, jobs: Iterable[JobId], now_ms: int) -> tuple[Start, ...]:
    """The starts of these jobs, which wait because they lost a node, if spares are open to them and to no other job.

    The jobs go in their usual order. They may use whatever is free, except nodes that are promised to other jobs. Their
    own surviving nodes they may use in any case. Room that the jobs would have to wait for is not looked for.
    """
    scenario, wanted = snapshot.scenario(now_ms), frozenset(jobs)
    waiting = tuple(_impatient(job) for job in scenario.waiting if job.id in wanted)
    own = frozenset(node for job in waiting for node in job.preferred_nodes)
    closed = frozenset(node for each in scenario.promises if each.job not in wanted for node in each.nodes) - own
    alone = evolve(_opened_beside(scenario, closed), waiting=waiting)
    return plan(Snapshot.of(alone), now_ms).starts


def replacements_on_spares(snapshot: Snapshot, now_ms: int) -> tuple[Resize, ...]:
    """How running jobs get workers in place of those that they lost with a node, with spares open to them alone.

    They may use whatever is free too, except nodes that are promised. They become no larger than they were.
    """
    scenario = snapshot.scenario(now_ms)
    running = tuple(_as_before(job) if job.lost_workers else evolve(job, can_resize=False) for job in scenario.running)
    closed = frozenset(node for each in scenario.promises for node in each.nodes)
    alone = _opened_beside(scenario, closed)
    alone = evolve(alone, running=running, waiting=(), policy=evolve(alone.policy, elastic=scenario.policy.elastic))
    return plan(Snapshot.of(alone), now_ms).resizes


def _opened_beside(scenario: Scenario, closed: frozenset[NodeName]) -> Scenario:
    """The situation with all spares open, other nodes closed, and a policy that changes nothing that runs."""
    nodes = (
        evolve(node, state=NodeState.DRAINED) if node.name in closed and not node.spare else opened(node)
        for node in scenario.cluster.nodes
    )
    cluster = evolve(scenario.cluster, nodes=tuple(nodes))
    return evolve(scenario, cluster=cluster, policy=_only_starting(scenario.policy), promises=())


def _as_before(job: RunningJob) -> RunningJob:
    """The job as one that may grow to the size which it had, and no further."""
    role = job.spec.elastic_role
    if role is None:
        return job
    size = sum(worker.role == role.name for worker in job.workers) + job.lost_workers
    most = min(role.workers_max, max(size, role.workers_min))
    roles = tuple(evolve(each, workers_max=most) if each == role else each for each in job.spec.roles)
    return evolve(job, spec=evolve(job.spec, roles=roles))


def opened(node: Node) -> Node:
    """The node as it is when it is no spare."""
    return evolve(node, state=NodeState.READY, spare=False) if node.spare else node


def _impatient(job: WaitingJob) -> WaitingJob:
    """The job as one that has had no GPU time, and does not wait for a place that it prefers."""
    topology = evolve(job.spec.topology, relax_after_ms=0)
    return evolve(job, attained_gpu_ms=0, starved=False, spec=evolve(job.spec, topology=topology))


def _only_starting(policy: Policy) -> Policy:
    """The policy without anything that changes what runs."""
    return evolve(policy, preemption=False, consolidation=False, elastic=False, hold_depth=0, backfill=True)


def _idle_beside(snapshot: Snapshot, spares: Spares) -> Capacity:
    """The cluster with nothing running on it and these nodes kept, all nodes in their present state of health."""
    setting, cluster = snapshot.setting, snapshot.cluster
    nodes = tuple(
        evolve(node, state=NodeState.DRAINED) if node.name in spares else opened(node) for node in setting.tree.nodes
    )
    tree = Tree(ClusterSpec(levels=cluster.levels, nodes=nodes, nvlink_level=cluster.nvlink_level))
    return Capacity.of(tree, FreeStates(), setting.pools)


def _is_free(snapshot: Snapshot, index: int) -> bool:
    """True for a whole node with GPUs that is ready and runs nothing."""
    node = snapshot.setting.tree.nodes[index]
    is_ready = node.spare or node.state is NodeState.READY
    return is_ready and node.gpus > 0 and not node.bad_gpus and not snapshot.uses_on(index)


def _gpus_by_kind(nodes: Iterable[Node]) -> dict[tuple[object, ...], int]:
    gpus: dict[tuple[object, ...], int] = {}
    for node in nodes:
        kind = _kind(node)
        gpus[kind] = gpus.get(kind, 0) + node.gpus
    return gpus


def _kind(node: Node) -> tuple[object, ...]:
    """Nodes of one kind can replace one another."""
    return (node.pool, node.gpu_type, node.gpus, node.cpu_milli, node.memory_bytes, node.disk_bytes)
