"""How much of the free GPU capacity is of no use: the measure of FGD (USENIX ATC '23).

For a worker drawn at random from the jobs of the trace, the free GPUs of a node are *fragments* if the worker does not
fit there, and so is what is left of single GPUs that is too small for it. Fragmentation is the expected amount of
fragments over all nodes, as a part of all that is free. A gang counts by its workers, and work without GPUs does not
count.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from muster.model.ids import GpuType
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec

SHAPES = 100
"""The most frequent shapes of workers that are looked at; what is rarer does not move the measure."""


class Shape(NamedTuple):
    """What one worker needs."""

    gpu_milli: int
    cpu_milli: int
    memory_bytes: int
    gpu_types: tuple[GpuType, ...]


class FreeNode(NamedTuple):
    """What a node has left."""

    gpus_milli: tuple[int, ...]
    """Of each device."""
    cpu_milli: int
    memory_bytes: int
    gpu_type: GpuType


class JobMix:
    """The shapes of workers in a trace, and what they make of a node."""

    def __init__(self, specs: Iterable[JobSpec]) -> None:
        counts: Counter[Shape] = Counter()
        for roles, count in Counter(spec.roles for spec in specs).items():
            for request in (role.request for role in roles if role.request.gpu_milli):
                shape = Shape(request.gpu_milli, request.cpu_milli, request.memory_bytes, request.gpu_types)
                counts[shape] += count
        frequent = counts.most_common(SHAPES)
        total = sum(count for _, count in frequent)
        self._shapes = [(shape, count / total) for shape, count in frequent]
        self.counts_hosts = any(shape.cpu_milli or shape.memory_bytes for shape, _ in frequent)
        """False where no job asks for CPUs or memory: what is left of them need not be known."""

    def fragments(self, node: FreeNode) -> float:
        """The GPU thousandths on a node that a worker of the mix can be expected not to use."""
        return sum(part * unusable_milli(shape, node) for shape, part in self._shapes)


def unusable_milli(shape: Shape, node: FreeNode) -> int:
    """The free GPU thousandths of a node that are of no use to a worker."""
    each_milli = min(shape.gpu_milli, GPU_MILLI)
    devices = -(-shape.gpu_milli // GPU_MILLI)
    usable = [free_milli for free_milli in node.gpus_milli if free_milli >= each_milli]
    fits = (
        len(usable) >= devices
        and shape.cpu_milli <= node.cpu_milli
        and shape.memory_bytes <= node.memory_bytes
        and (not shape.gpu_types or node.gpu_type in shape.gpu_types)
    )
    return sum(node.gpus_milli) - (sum(usable) if fits else 0)
