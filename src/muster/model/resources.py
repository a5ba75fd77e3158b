"""What a worker needs and what a node has, in integer units, so that sums are exact in any order.

GPUs are counted in thousandths (`milli`), CPUs in thousandths, memory and disk in bytes.
"""

from muster.model.ids import GpuType
from muster.model.records import Record

GPU_MILLI = 1000
"""One whole GPU."""

UNTRACKED = 1 << 60
"""The amount of a resource that the node's owner did not state. It is never the reason why something does not fit."""


class Request(Record, frozen=True, kw_only=True):
    """What one worker needs, all of it on one node."""

    gpu_milli: int = 0
    """Whole GPUs are multiples of 1000; a share of one GPU is below 1000."""
    gpu_types: tuple[GpuType, ...] = ()
    """Accepted types, preferred first; empty means any. A role never mixes types."""
    cpu_milli: int = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    throughput: tuple[tuple[GpuType, int], ...] = ()
    """Relative speed of this work per GPU type, in thousandths. Types not named have the speed of the policy."""

    @property
    def is_fractional(self) -> bool:
        """True when the worker shares one GPU with others."""
        return 0 < self.gpu_milli < GPU_MILLI

    @property
    def gpu_count(self) -> int:
        """How many GPU devices the worker touches."""
        return -(-self.gpu_milli // GPU_MILLI)


def gpus_text(milli: int) -> str:
    """GPU thousandths as people write them."""
    whole, part = divmod(milli, GPU_MILLI)
    return str(whole) if not part else f"{whole}.{part:03d}".rstrip("0")


def typed_gpus_text(milli: int, gpu_type: str) -> str:
    """GPUs of a type: `8 h100`. Where the type is not named or does not matter: `8 GPUs`."""
    if gpu_type not in ("", "*"):
        return f"{gpus_text(milli)} {gpu_type}"
    return f"{gpus_text(milli)} {'GPU' if milli == GPU_MILLI else 'GPUs'}"
