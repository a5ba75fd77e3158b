"""The `cluster` part of a file -> `ClusterSpec`.

A cluster is written as levels and nodes, where one entry may stand for many nodes (`name: "n[1-16]"` or `count: 75`),
or in one word as `75x8`: 75 nodes with 8 GPUs each.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, PlainValidator

from muster.formats.parts.kinds import Cpus, Memory, Name, name, text
from muster.formats.parts.wire import Wire, closest, read_part
from muster.formats.text import ranges, units
from muster.formats.text.document import Document, Problems, read_document
from muster.formats.text.yaml_text import Loc
from muster.model.errors import InvalidInput
from muster.model.ids import (
    DEFAULT_POOL,
    ENGINE_LEVEL,
    LOCAL_ENGINE,
    NODE_LEVEL,
    EngineName,
    GpuType,
    LevelName,
    NodeName,
    PoolName,
)
from muster.model.limits import GPUS_PER_NODE, NODES_PER_CLUSTER, TOPOLOGY_LEVELS
from muster.model.machines.constraint import LABEL_CHARS, is_label
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.records import evolve
from muster.model.resources import UNTRACKED

NVLINK_LEVELS = ("nvlink", "nvl", "nvl72", "nvlink_domain", "nvl-domain")
"""What a level of NVLink domains is usually called. Used when `nvlink_level` is not given."""

LABELS_PER_NODE = 64
"""More labels than people give a node. Every node is stored and shown with its labels."""

_SIZE = re.compile(r"([0-9]{1,9})[x×]([0-9]{1,9})", re.IGNORECASE)

Count = Annotated[int, Field(ge=1, le=NODES_PER_CLUSTER)]


def decimal_gigabytes(value: object) -> int:
    """The `mem_gb` of trace files: decimal gigabytes, as the name says."""
    return int(units.number(value) * 10**9)


def node_labels(value: object) -> tuple[str, ...]:
    """`[ib, nvme]`, or `ib,nvme` as Slurm writes features; sorted, each once."""
    words = value if isinstance(value, list) else [word.strip() for word in text(value).split(",")]
    if len(words) > LABELS_PER_NODE:
        raise units.BadValue(f"{len(words)} labels are too many", f"at most {LABELS_PER_NODE}")
    for word in words:
        if not is_label(text(word)):
            hint = f"1 to {LABEL_CHARS} letters, digits and _ . : = / @ + -"
            raise units.BadValue(f"{units.shown(word)} is not a label", hint)
    return tuple(sorted({text(word): None for word in words}))


class NodeWire(Wire):
    """One entry of `nodes`. Keys that are not fields must be levels."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[tuple[str, ...], PlainValidator(ranges.node_names)] = ()
    """`n1`, or `n[1-16]` for sixteen."""
    count: Count | None = None
    """Instead of a name for each: so many, with names that are made up."""
    gpus: Annotated[int, Field(ge=0, le=GPUS_PER_NODE)] = 0
    """How many GPUs each has."""
    gpu_type: Name = ""
    """What job files and quotas call them. Left out: they have no type."""
    cpus: Cpus = UNTRACKED
    """CPUs for jobs. Left out: they do not count."""
    memory: Memory = UNTRACKED
    """Memory for jobs. Left out: it does not count."""
    disk: Memory = UNTRACKED
    """Local disk for jobs. Left out: it does not count."""
    mem_gb: Annotated[int, PlainValidator(decimal_gigabytes)] | None = None
    """Memory in decimal gigabytes, as traces have it."""
    pool: Name = DEFAULT_POOL
    """The pool it is in."""
    state: Annotated[NodeState, Field(strict=False)] = NodeState.READY
    """How it begins. Later, `muster drain` and health say it, until the file says something else."""
    bad_gpus: list[int] = Field(default_factory=list, max_length=GPUS_PER_NODE)
    """GPUs that must not be used, counted from 0."""
    labels: Annotated[tuple[str, ...], PlainValidator(node_labels)] = ()
    """What job files may ask for in `constraint`."""
    engine: Name = LOCAL_ENGINE
    """What starts processes there: one of `[[engines]]`. Left out: this machine. No gang spans two."""


class ClusterWire(Wire):
    """The machines and the levels above them."""

    levels: list[Name] = Field(default_factory=list)
    """The levels above the node, outermost first. Every node then has a key for each."""
    nodes: list[Any] = Field(max_length=NODES_PER_CLUSTER)
    """The machines. One entry may stand for many."""
    nvlink_level: Name | None = None
    """The level that tensor-parallel groups may span. Left out: a level with a usual name, as `nvlink`, or the node."""


def cluster_from_text(size: str) -> ClusterSpec:
    """`75x8`: 75 nodes, `n1` to `n75`, with 8 GPUs each and no topology above them."""
    match = _SIZE.fullmatch(size.strip())
    nodes, gpus = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (0 < nodes <= NODES_PER_CLUSTER and gpus <= GPUS_PER_NODE) or match is None:
        limits = f"at most {NODES_PER_CLUSTER} nodes with at most {GPUS_PER_NODE} GPUs each"
        raise InvalidInput(f"{size!r} is not a cluster: write nodes x GPUs, such as 75x8 ({limits})")
    return ClusterSpec(nodes=tuple(Node(name=NodeName(f"n{place}"), gpus=gpus) for place in range(1, nodes + 1)))


def is_size(source: str | Path) -> bool:
    """True for a cluster in one word, such as `75x8`, rather than the name of a file."""
    return _SIZE.fullmatch(str(source).strip()) is not None


def read_cluster(source: str | Path) -> ClusterSpec:
    """The cluster that `75x8`, a cluster file, or the `cluster` part of a scenario file describes."""
    if is_size(source):
        return cluster_from_text(str(source))
    return cluster_from_document(read_document(source))


def cluster_from_document(document: Document) -> ClusterSpec:
    """The cluster in a document: the whole of it, or its `cluster` part. Notes beside it are ignored."""
    problems = Problems(document)
    cluster = find_cluster(document, problems)
    problems.stop_if_any()
    return cluster


def find_cluster(document: Document, problems: Problems) -> ClusterSpec:
    """The same, as far as it can be read. What is wrong with it is noted."""
    value = document.value
    if isinstance(value, dict) and "cluster" in value:
        return cluster_part(value["cluster"], problems, ("cluster",))
    return cluster_part(_without_notes(value), problems, ())


def cluster_part(value: object, problems: Problems, at: Loc) -> ClusterSpec:
    """The cluster, as far as it can be read. What is wrong with it is noted."""
    if isinstance(value, str):
        try:
            return cluster_from_text(value)
        except InvalidInput as error:
            problems.add(at, str(error))
            return ClusterSpec()
    wire = read_part(ClusterWire, value, problems, at)
    if wire is None:
        return ClusterSpec()
    levels = _levels(wire, problems, at)
    return under_engines(
        ClusterSpec(
            levels=levels,
            nodes=_Nodes(levels, problems, (*at, "nodes")).read(wire.nodes),
            nvlink_level=_nvlink_level(wire, levels, problems, at),
        )
    )


def under_engines(cluster: ClusterSpec, more: Iterable[EngineName] = ()) -> ClusterSpec:
    """The same cluster, with its engines as the outermost level if it has several; `more` may have no nodes yet."""
    if len({*more, *(node.engine for node in cluster.nodes)}) < 2 or ENGINE_LEVEL in cluster.levels:
        return cluster
    nodes = tuple(evolve(node, domains=(node.engine, *node.domains)) for node in cluster.nodes)
    return evolve(cluster, levels=(ENGINE_LEVEL, *cluster.levels), nodes=nodes)


class _Nodes:
    """Reads the entries of `nodes` and checks that every name is unique."""

    def __init__(self, levels: tuple[LevelName, ...], problems: Problems, at: Loc) -> None:
        self._levels = levels
        self._problems = problems
        self._at = at
        self._entry_by_name: dict[str, int] = {}
        self._unnamed = 0

    def read(self, entries: list[Any]) -> tuple[Node, ...]:
        wires = list(self._wires(entries))
        # Given names come first, so that made-up names can avoid them.
        for place, wire in wires:
            self._claim(wire.name if wire.count is None else (), place)
        return tuple(node for place, wire in wires for node in self._nodes(wire, place))

    def _wires(self, entries: list[Any]) -> Iterator[tuple[int, NodeWire]]:
        """The entries that can be read, each with its place, until there are too many nodes."""
        total = 0
        for place, entry in enumerate(entries):
            wire = read_part(NodeWire, entry, self._problems, (*self._at, place))
            if wire is None:
                continue
            total += wire.count or len(wire.name)
            if total > NODES_PER_CLUSTER:
                self._problems.add((*self._at, place), "too many nodes", f"at most {NODES_PER_CLUSTER} in a cluster")
                return
            yield place, wire

    def _claim(self, names: tuple[str, ...], place: int) -> None:
        for each in names:
            other = self._entry_by_name.get(each)
            if other is not None:
                again = "twice" if other == place else f"here and by nodes[{other}]"
                self._problems.add((*self._at, place, "name"), f"node {each!r} is named {again}", "name each node once")
                return
            self._entry_by_name[each] = place

    def _nodes(self, wire: NodeWire, place: int) -> Iterator[Node]:
        at = (*self._at, place)
        domains = self._domains(wire, at)
        bad_gpus = tuple(sorted(set(wire.bad_gpus)))
        for number, gpu in enumerate(wire.bad_gpus):
            if not 0 <= gpu < wire.gpus:
                problem = f"there is no GPU {gpu} on a node with {wire.gpus}"
                self._problems.add((*at, "bad_gpus", number), problem, "GPUs are counted from 0")
        for each in self._names(wire, place):
            yield Node(
                name=NodeName(each),
                gpus=wire.gpus,
                gpu_type=GpuType(wire.gpu_type),
                cpu_milli=wire.cpus,
                memory_bytes=wire.memory if wire.mem_gb is None else wire.mem_gb,
                disk_bytes=wire.disk,
                domains=domains,
                pool=PoolName(wire.pool),
                state=wire.state,
                bad_gpus=bad_gpus,
                labels=wire.labels,
                engine=EngineName(wire.engine),
            )

    def _names(self, wire: NodeWire, place: int) -> tuple[str, ...]:
        """The names that the entry stands for, made up where only a count was given."""
        if wire.count is None:
            if not wire.name:
                self._problems.add((*self._at, place, "name"), "is required and was not given", "a name or a count")
            return wire.name
        if len(wire.name) > 1:
            if len(wire.name) != wire.count:
                problem = f"is {wire.count}, and the name stands for {len(wire.name)} nodes"
                self._problems.add((*self._at, place, "count"), problem, "leave one of them out")
            names = wire.name
        elif wire.name:
            names = tuple(f"{wire.name[0]}-{number}" for number in range(1, wire.count + 1))
        else:
            names = tuple(self._made_up_name() for _ in range(wire.count))
        self._claim(names, place)
        return names

    def _made_up_name(self) -> str:
        while True:
            self._unnamed += 1
            if f"n{self._unnamed}" not in self._entry_by_name:
                return f"n{self._unnamed}"

    def _domains(self, wire: NodeWire, at: Loc) -> tuple[str, ...]:
        """The domain at each level. An entry must name every level, and no unknown key."""
        given = dict(wire.model_extra or {})
        found = []
        for level in self._levels:
            if given.get(level) is None:
                self._problems.add((*at, level), f"is required: {level!r} is one of the levels", f"{level}: …")
            else:
                found.append(self._domain(given[level], (*at, level)))
        known = [*NodeWire.model_fields, *self._levels]
        for key in given:
            if key not in self._levels:
                hint = closest(key, known, otherwise="if it is a level, add it to levels")
                self._problems.add((*at, key), "is neither a key of a node nor one of the levels", hint)
        return tuple(found)

    def _domain(self, value: object, at: Loc) -> str:
        try:
            return name(value)
        except units.BadValue as error:
            self._problems.add(at, error.problem, error.hint)
            return ""


def _levels(wire: ClusterWire, problems: Problems, at: Loc) -> tuple[LevelName, ...]:
    """The levels above the node, outermost first."""
    named = wire.levels[:-1] if wire.levels[-1:] == [NODE_LEVEL] else wire.levels
    for place, level in enumerate(named):
        if level in named[:place]:
            problems.add((*at, "levels", place), f"level {level!r} is given twice")
        elif level == NODE_LEVEL or level in NodeWire.model_fields:
            reason = "node is always the last" if level == NODE_LEVEL else "nodes have a key of that name"
            problems.add((*at, "levels", place), f"{level!r} cannot be a level here", reason)
    if len(named) > TOPOLOGY_LEVELS:
        problems.add((*at, "levels"), f"{len(named)} levels are too many", f"at most {TOPOLOGY_LEVELS}")
    return tuple(LevelName(level) for level in named)


def _nvlink_level(wire: ClusterWire, levels: tuple[LevelName, ...], problems: Problems, at: Loc) -> LevelName | None:
    if wire.nvlink_level is None:
        return next((level for level in levels if level.lower() in NVLINK_LEVELS), None)
    if wire.nvlink_level == NODE_LEVEL:
        return None
    if wire.nvlink_level not in levels:
        problem = f"{wire.nvlink_level!r} is not one of the levels"
        problems.add((*at, "nvlink_level"), problem, closest(wire.nvlink_level, [*levels, NODE_LEVEL]))
    return LevelName(wire.nvlink_level)


def _without_notes(value: object) -> object:
    """The file without notes beside the cluster. A key that looks misspelt is kept, and will be refused."""
    if not isinstance(value, dict):
        return value
    known = list(ClusterWire.model_fields)
    return {key: each for key, each in value.items() if difflib.get_close_matches(key, known, cutoff=0.8)}
