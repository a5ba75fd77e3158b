"""What a job occupies, node by node."""

from collections.abc import Iterable

from muster.core.cluster.tenancy import ORDINARY, Tenancy


class NodeUse:
    """What one job occupies on one node. Never changed once made."""

    __slots__ = ("cpu_milli", "devices", "disk_bytes", "gpu_milli", "memory_bytes", "node", "tenancy")

    def __init__(
        self,
        node: int,
        devices: tuple[tuple[int, int], ...],
        cpu_milli: int,
        memory_bytes: int,
        disk_bytes: int,
        tenancy: Tenancy = ORDINARY,
    ) -> None:
        self.node = node
        self.devices = devices
        """(device number, thousandths) pairs."""
        self.gpu_milli = sum([milli for _, milli in devices])
        self.cpu_milli = cpu_milli
        self.memory_bytes = memory_bytes
        self.disk_bytes = disk_bytes
        self.tenancy = tenancy


def per_device(uses: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """One entry per device. The uses of workers of one job that share a GPU are added up."""
    total: dict[int, int] = {}
    for device, milli in uses:
        total[device] = total.get(device, 0) + milli
    return tuple(total.items())


Footprint = tuple[NodeUse, ...]
"""All that one job occupies, one entry per node."""
