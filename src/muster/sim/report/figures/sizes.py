"""Classes of jobs by the number of GPUs they ask for."""

from enum import IntEnum

from muster.model.resources import GPU_MILLI
from muster.model.trace import TraceJob


class SizeClass(IntEnum):
    """From small to large. A share of a GPU counts as one GPU."""

    ONE = 0
    FEW = 1
    NODE = 2
    MANY = 3

    @property
    def label(self) -> str:
        """For an axis or a legend."""
        return ("1 GPU", "2–4 GPUs", "5–8 GPUs", "> 8 GPUs")[self]

    @property
    def phrase(self) -> str:
        """For a sentence about jobs of the class."""
        return ("with 1 GPU", "with 2–4 GPUs", "with 5–8 GPUs", "with more than 8 GPUs")[self]


_LARGEST = ((SizeClass.ONE, 1), (SizeClass.FEW, 4), (SizeClass.NODE, 8))


def size_class(job: TraceJob) -> SizeClass:
    """The class of one job."""
    for each, gpus in _LARGEST:
        if job.gpu_milli <= gpus * GPU_MILLI:
            return each
    return SizeClass.MANY
