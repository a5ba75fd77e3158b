"""How fast the jobs of a trace run on each GPU type, for traces that say so."""

from muster.estimates.training import PARTS
from muster.model.ids import GpuType
from muster.model.trace import TraceJob

GpusByType = tuple[tuple[GpuType, int], ...]
"""How many GPUs of each type a cluster has."""


def speeds_by_type(job: TraceJob) -> tuple[tuple[GpuType, int], ...]:
    """Parts of work per millisecond on each GPU type for which a run time was measured."""
    return tuple([(kind, max(job.run_ms * PARTS // run_ms, 1)) for kind, run_ms in job.run_ms_by_type if run_ms])


def mean_speed(job: TraceJob, gpus_by_type: GpusByType) -> float:
    """The speed of a job on a share of all types that it accepts, relative to the type its run time is from."""
    if not job.run_ms_by_type:
        return 1.0
    run_ms = dict(job.run_ms_by_type)
    accepted = [(kind, gpus) for kind, gpus in gpus_by_type if not job.gpu_types or kind in job.gpu_types]
    speeds = sum(gpus * job.run_ms / (run_ms.get(kind, job.run_ms) or 1) for kind, gpus in accepted)
    return speeds / sum(gpus for _, gpus in accepted) if speeds else 1.0
