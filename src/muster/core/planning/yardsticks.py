"""By what harm is measured: the workers that wait now, and always whole nodes and their halves.

Shares are rounded, so that one job more or less does not change the measure and everything remembered by it.
"""

from muster.core.cluster.states import Yardstick
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType
from muster.model.resources import GPU_MILLI

POPULAR = 12
"""How many of the most frequent workers count."""

GRAIN = 16
"""Popularity is rounded to this fraction of the queue."""

STANDING_WEIGHT = 2
"""Of the sizes that always count, so that an empty queue does not make the scheduler careless."""


def yardsticks(snapshot: Snapshot) -> list[Yardstick]:
    """What the cluster would like to be able to place, now and in general."""
    marks = [Yardstick(size * GPU_MILLI, None, 0, 0, STANDING_WEIGHT) for size in _standing_sizes(snapshot)]
    asked: dict[tuple[int, GpuType | None, int, int], int] = {}
    total = 0
    for gang, count in snapshot.queue.gang_counts():
        if not gang.choices:
            continue
        ask = gang.choices[0].asks[0]
        if ask.gpu_milli:
            only_type = ask.gpu_type if len(gang.choices) == 1 else None
            key = (ask.gpu_milli, only_type, ask.cpu_milli, ask.memory_bytes)
            asked[key] = asked.get(key, 0) + count
            total += count
    popular = sorted(asked.items(), key=lambda item: (-(item[1] * GRAIN // total), str(item[0])))[:POPULAR]
    return marks + [Yardstick(*key, weight) for key, count in popular if (weight := count * GRAIN // total)]


def _standing_sizes(snapshot: Snapshot) -> list[int]:
    """Powers of two up to the largest node, and the largest node itself."""
    largest = snapshot.setting.tree.largest_node_gpus
    sizes = []
    size = 1
    while size < largest:
        sizes.append(size)
        size *= 2
    return [*sizes, largest] if largest else []
