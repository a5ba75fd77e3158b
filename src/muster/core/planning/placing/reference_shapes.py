"""The shapes that harm is measured by: the workers that wait now, and always powers of two up to a whole node.

Shares are rounded, so that one job more or less does not change the shapes and everything remembered by them.
"""

from functools import lru_cache

from muster.core.cluster.free_states import ReferenceShape
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType
from muster.model.policy import Packing
from muster.model.resources import GPU_MILLI

_Want = tuple[int, GpuType | None, int, int]
"""What a worker asks for: GPUs, their type if only one will do, CPUs and memory."""

POPULAR = 12
"""How many of the most frequent shapes of waiting workers count."""

GRAIN = 16
"""Popularity is rounded down to a multiple of one part in this many of the queue."""

STANDING_WEIGHT = 2
"""The weight of the sizes that always count, so that an empty queue does not make the scheduler careless."""


def reference_shapes(snapshot: Snapshot) -> list[ReferenceShape]:
    """The shapes that the cluster should be able to place, now and in general.

    Empty where nodes are to be filled by best fit: without shapes there is no harm, and best fit decides.
    """
    if snapshot.setting.policy.packing is Packing.BEST_FIT:
        return []
    marks = _standing(snapshot.setting.tree.largest_node_gpus)
    asked: dict[_Want, int] = {}
    total = 0
    for gang, count in snapshot.queue.gang_counts():
        if not gang.choices:
            continue
        ask = gang.choices[0].asks[0]
        if ask.gpu_milli:
            only_type = ask.gpu_type if len(gang.choices) == 1 else None
            key: _Want = (ask.gpu_milli, only_type, ask.cpu_milli, ask.memory_bytes)
            asked[key] = asked.get(key, 0) + count
            total += count
    weighed = [(-weight, _in_words(key), key) for key, count in asked.items() if (weight := count * GRAIN // total)]
    weighed.sort()
    return [*marks, *[ReferenceShape(*key, -weight) for weight, _, key in weighed[:POPULAR]]]


@lru_cache(maxsize=1_000)
def _in_words(want: _Want) -> str:
    """Orders wants of equal weight: the type may be None, and strings can be compared all the same."""
    return str(want)


@lru_cache(maxsize=16)
def _standing(largest: int) -> tuple[ReferenceShape, ...]:
    """Powers of two up to the largest node, and the largest node itself."""
    sizes = []
    size = 1
    while size < largest:
        sizes.append(size)
        size *= 2
    return tuple(ReferenceShape(each * GPU_MILLI, None, 0, 0, STANDING_WEIGHT) for each in (*sizes, largest) if largest)
