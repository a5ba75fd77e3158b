"""How much of the free GPU capacity cannot be used: the measure of FGD (USENIX ATC '23).

A worker is drawn at random from the jobs of the trace. If it does not fit on a node, all free GPUs of the node are
*fragments*. If it fits, the free parts of single GPUs that are too small for it are fragments. Fragmentation is the
expected amount of fragments over all nodes, as a part of all that is free. A gang counts with the shape of one worker
per role. Roles without GPUs do not count.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from muster.model.ids import GpuType
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec

SHAPES = 100
"""How many of the most frequent worker shapes are counted. Rarer shapes do not change the measure."""


class Shape(NamedTuple):
    """What one worker needs."""

    gpu_milli: int
    cpu_milli: int
    memory_bytes: int
    gpu_types: tuple[GpuType, ...]


class FreeNode(NamedTuple):
    """What a node has left."""

    gpus_milli: tuple[int, ...]
    """Free thousandths of each device."""
    cpu_milli: int
    memory_bytes: int
    gpu_type: GpuType


class JobMix:
    """The shapes of workers in a trace, and how much of a node they cannot use."""

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
        """False if no job asks for CPUs or memory. Then free CPUs and memory need not be known."""

    def fragments(self, node: FreeNode) -> float:
        """The expected free GPU thousandths of a node that a worker of the mix cannot use."""
        return sum(part * unusable_milli(shape, node) for shape, part in self._shapes)


def unusable_milli(shape: Shape, node: FreeNode) -> int:
    """The free GPU thousandths of a node that a worker of this shape cannot use."""
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
