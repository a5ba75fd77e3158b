"""The cluster over time, computed after a replay from what its jobs occupied.

This costs the replay itself nothing. Which job ran where and when tells how much was used, how many jobs waited, and
how scattered the free GPUs were.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from muster.model.ids import NodeName
from muster.model.job import JobState, Placement
from muster.model.node import ClusterSpec, Node
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec
from muster.sim.fragmentation import FreeNode, JobMix
from muster.sim.outcome import JobOutcome, Sample

SAMPLES = 4_000
"""The most samples kept: more than any screen has columns."""

NO_CHANGE = (0, 0, 0)
"""The change of the job figures at a moment at which only a node changes."""


class Occupied(NamedTuple):
    """A period in which a gang occupied its seats."""

    start_ms: int
    end_ms: int
    milli: int
    seats: Placement
    spec: JobSpec


class _Board:
    """What is free on every node, kept up to date change by change."""

    def __init__(self, nodes: Iterable[Node], mix: JobMix) -> None:
        self._mix = mix
        self._counts_hosts = mix.counts_hosts
        self._nodes = {node.name: node for node in nodes}
        self._used = {name: [0] * node.gpus for name, node in self._nodes.items()}
        self._cpu = dict.fromkeys(self._nodes, 0)
        self._memory = dict.fromkeys(self._nodes, 0)
        self._dirty = dict.fromkeys(self._nodes)
        self._weights: dict[tuple[object, ...], tuple[float, int]] = {}
        """Fragments and free GPU thousandths of nodes that are alike."""
        self._weighed: dict[NodeName, tuple[float, int]] = {}
        self._total_fragments = 0.0
        self._total_free = 0

    def seat(self, occupied: Occupied, sign: int) -> None:
        """A gang takes its seats (sign 1), or leaves them (sign -1)."""
        for worker in occupied.seats:
            name = worker.node
            used, each_milli = self._used[name], sign * (worker.share_milli or GPU_MILLI)
            for gpu in worker.gpus:
                used[gpu] += each_milli
            self._dirty[name] = None
        if self._counts_hosts:
            self._seat_on_hosts(occupied, sign)

    def _seat_on_hosts(self, occupied: Occupied, sign: int) -> None:
        requests = {role.name: role.request for role in occupied.spec.roles}
        for worker in occupied.seats:
            self._cpu[worker.node] += sign * requests[worker.role].cpu_milli
            self._memory[worker.node] += sign * requests[worker.role].memory_bytes

    def change(self, node: Node) -> None:
        """A node has changed."""
        self._nodes[node.name] = node
        self._dirty[node.name] = None

    def fragmentation(self) -> float:
        """The expected part of the free GPUs that a worker of the mix cannot use."""
        for name in self._dirty:
            self._weigh(name)
        self._dirty = {}
        return max(self._total_fragments, 0.0) / self._total_free if self._total_free else 0.0

    def _weigh(self, name: NodeName) -> None:
        node = self._nodes[name]
        key = (
            tuple(self._used[name]),
            node.cpu_milli - self._cpu[name],
            node.memory_bytes - self._memory[name],
            node.gpu_type,
            node.bad_gpus,
            node.state,
        )
        weight = self._weights.get(key)
        if weight is None:
            weight = self._weights[key] = self._weight(name)
        before = self._weighed.get(name, (0.0, 0))
        self._total_fragments += weight[0] - before[0]
        self._total_free += weight[1] - before[1]
        self._weighed[name] = weight

    def _weight(self, name: NodeName) -> tuple[float, int]:
        """The expected fragments of a node, and all its free GPU thousandths."""
        node = self._nodes[name]
        gpus: list[int] = []
        if node.state.takes_work:
            left = (max(GPU_MILLI - used, 0) for used in self._used[name])
            gpus = [0 if gpu in node.bad_gpus else free_milli for gpu, free_milli in enumerate(left)]
        free = FreeNode(
            gpus_milli=tuple(sorted(gpus)),
            cpu_milli=node.cpu_milli - self._cpu[name],
            memory_bytes=node.memory_bytes - self._memory[name],
            gpu_type=node.gpu_type,
        )
        return self._mix.fragments(free), sum(gpus)


def timeline(
    cluster: ClusterSpec,
    outcomes: Sequence[JobOutcome],
    occupied: Sequence[Occupied],
    node_history: Sequence[tuple[int, Node]],
    mix: JobMix,
) -> tuple[Sample, ...]:
    """One sample for each moment at which a job or a node changed. If there are too many, every n-th is kept.

    The moment at which the fewest GPUs worked is always among them.
    """
    changes = _changes(outcomes)
    moments = _moments(changes, node_history)
    kept = _evenly(moments, SAMPLES)
    if node_history and len(kept) < len(moments):
        kept = sorted({*_evenly(moments, SAMPLES - 1), _worst(cluster, moments, node_history)})
    board = _Board(cluster.nodes, mix)
    fragmentation = dict(zip(kept, _fragmentations(board, kept, occupied, node_history), strict=True))
    usable = dict(zip(kept, _usable(cluster, kept, node_history), strict=True))
    samples = []
    used = jobs = waiting = 0
    for at_ms in moments:
        more_used, more_jobs, more_waiting = changes.get(at_ms, NO_CHANGE)
        used, jobs, waiting = used + more_used, jobs + more_jobs, waiting + more_waiting
        if at_ms in fragmentation:
            sample = Sample(
                at_ms=at_ms,
                used_milli=used,
                usable_milli=usable[at_ms],
                waiting_jobs=jobs,
                waiting_milli=waiting,
                fragmentation=fragmentation[at_ms],
            )
            samples.append(sample)
    return tuple(samples)


def is_rejected(outcome: JobOutcome) -> bool:
    """True for a job that was not admitted."""
    return outcome.end_ms is None and outcome.state is JobState.FAILED


def _changes(outcomes: Sequence[JobOutcome]) -> dict[int, list[int]]:
    """For each moment, the change of used GPU thousandths, of waiting jobs, and of GPU thousandths they ask for."""
    changes: dict[int, list[int]] = {}
    for outcome in outcomes:
        if is_rejected(outcome):
            continue
        milli = outcome.job.gpu_milli
        _change(changes, outcome.job.submit_ms, 0, 1, milli)
        for stint in outcome.stints:
            used = stint.gpu_milli
            _change(changes, stint.start_ms, used, -1, -milli)
            _change(changes, stint.end_ms, -used, 1, milli)
        if outcome.end_ms is not None:
            _change(changes, outcome.end_ms, 0, -1, -milli)
    return changes


def _change(changes: dict[int, list[int]], at_ms: int, used: int, jobs: int, waiting: int) -> None:
    entry = changes.get(at_ms)
    if entry is None:
        changes[at_ms] = [used, jobs, waiting]
    else:
        entry[0] += used
        entry[1] += jobs
        entry[2] += waiting


def _moments(changes: Iterable[int], node_history: Sequence[tuple[int, Node]]) -> list[int]:
    """All moments in the order of time, from the first change of a job to the last."""
    jobs = sorted(changes)
    if not jobs or not node_history:
        return jobs
    nodes = (at_ms for at_ms, _ in node_history if jobs[0] < at_ms < jobs[-1])
    return sorted({*jobs, *nodes})


def _worst(cluster: ClusterSpec, moments: list[int], node_history: Sequence[tuple[int, Node]]) -> int:
    """The first moment at which the fewest GPUs work."""
    return min(zip(_usable(cluster, moments, node_history), moments, strict=True))[1]


def _evenly(moments: list[int], most: int) -> list[int]:
    """At most `most` of the moments. The last one is always kept: a chart must show the end."""
    step = -(-len(moments) // (most - 1)) or 1
    return [*moments[:-1:step], moments[-1]] if moments else []


def _usable(cluster: ClusterSpec, kept: list[int], node_history: Sequence[tuple[int, Node]]) -> Iterator[int]:
    """GPU thousandths of nodes that work, at each of the moments."""
    usable = {node.name: _usable_milli(node) for node in cluster.nodes}
    total, place = sum(usable.values()), 0
    for at_ms in kept:
        while place < len(node_history) and node_history[place][0] <= at_ms:
            node = node_history[place][1]
            total += _usable_milli(node) - usable[node.name]
            usable[node.name] = _usable_milli(node)
            place += 1
        yield total


def _usable_milli(node: Node) -> int:
    return (node.gpus - len(node.bad_gpus)) * GPU_MILLI if node.state.takes_work else 0


def _fragmentations(
    board: _Board, kept: list[int], occupied: Sequence[Occupied], node_history: Sequence[tuple[int, Node]]
) -> Iterator[float]:
    """The fragmentation at each of the moments."""
    starts = sorted(range(len(occupied)), key=lambda place: occupied[place].start_ms)
    ends = sorted(range(len(occupied)), key=lambda place: occupied[place].end_ms)
    next_start = next_end = next_node = 0
    for at_ms in kept:
        while next_node < len(node_history) and node_history[next_node][0] <= at_ms:
            board.change(node_history[next_node][1])
            next_node += 1
        while next_end < len(ends) and occupied[ends[next_end]].end_ms <= at_ms:
            board.seat(occupied[ends[next_end]], -1)
            next_end += 1
        while next_start < len(starts) and occupied[starts[next_start]].start_ms <= at_ms:
            board.seat(occupied[starts[next_start]], 1)
            next_start += 1
        yield board.fragmentation()
