"""What fits on a node: every GPU, and CPUs, memory and disk. Jobs that leave or shrink still count."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from muster.checker.facts import Facts, Stay, milli_on_device
from muster.model.ids import NodeName
from muster.model.node import Node
from muster.model.resources import GPU_MILLI


def room_problems(facts: Facts) -> Iterator[str]:
    """Nodes that are too full once everything that begins now has begun."""
    present = [stay for stay in facts.stays() if not stay.is_promised]
    touched = nodes_of(stay for stay in present if stay.is_new)
    for name in touched:
        yield from (f"now: {problem}" for problem in overfull(facts.nodes[name], present))


def nodes_of(stays: Iterable[Stay]) -> list[NodeName]:
    """The nodes of some stays, each once."""
    return sorted(dict.fromkeys(worker.node for stay in stays for worker in stay.workers))


def overfull(node: Node, stays: Sequence[Stay]) -> Iterator[str]:
    """The resources of which a node has too little for all of these stays at once."""
    gpus: Counter[int] = Counter()
    cpu = memory = disk = 0
    for stay in stays:
        for worker in stay.workers:
            if worker.node == node.name:
                request = stay.spec.role(worker.role).request
                gpus.update(dict.fromkeys(worker.gpus, milli_on_device(worker)))
                cpu, memory, disk = cpu + request.cpu_milli, memory + request.memory_bytes, disk + request.disk_bytes
    for gpu, milli in sorted(gpus.items()):
        if milli > GPU_MILLI:
            yield f"GPU {gpu} of node {node.name} is used {milli} thousandths"
    yield from _not_alone(node, stays)
    for what, used, there in (
        ("CPUs", cpu, node.cpu_milli),
        ("memory", memory, node.memory_bytes),
        ("disk", disk, node.disk_bytes),
    ):
        if used > there:
            yield f"node {node.name} has {there} of {what} and {used} are used"


def _not_alone(node: Node, stays: Sequence[Stay]) -> Iterator[str]:
    """Jobs that want the node for themselves and do not have it. Workers that a job gave up are still its own."""
    there = [stay for stay in stays if any(worker.node == node.name for worker in stay.workers)]
    jobs = sorted(dict.fromkeys(stay.job for stay in there))
    for job in sorted(dict.fromkeys(stay.job for stay in there if stay.spec.exclusive)):
        if len(jobs) > 1:
            others = ", ".join(other for other in jobs if other != job)
            yield f"node {node.name} is for {job} alone, and {others} is there"
