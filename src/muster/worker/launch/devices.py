"""Which GPUs of a node are in use. Only the node knows for certain, whatever a control plane believes.

A control plane with an older database, or with none, may give out GPUs without knowing that they are in use.
"""

from collections.abc import Iterable, Mapping

from muster.model.ids import JobId
from muster.model.job import Worker
from muster.model.resources import GPU_MILLI
from muster.worker.launch.secret_files import Given


def conflict(worker: Worker, living: Iterable[tuple[JobId, Worker]]) -> str:
    """Why a worker cannot have its GPUs beside the living workers of its node; empty when it can."""
    used = dict.fromkeys(worker.gpus, _milli(worker))
    for job, other in living:
        for gpu in other.gpus:
            if gpu in used:
                used[gpu] += _milli(other)
                if used[gpu] > GPU_MILLI:
                    return f"GPU {gpu} of {worker.node} is in use by {job}"
    return ""


def _milli(worker: Worker) -> int:
    """What a worker takes of each of its GPUs, in thousandths."""
    return GPU_MILLI if worker.share_milli is None else worker.share_milli


def shown_devices(given: Given | None, variables: Mapping[str, str]) -> dict[int, str]:
    """What an engine calls each GPU that Muster numbers: the n-th of one is the n-th of the other.

    Empty where nobody numbers them but Muster, or where the engine shows none, as for GPUs that are only pretended.
    """
    shown = [name for name in variables.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    if given is None or not given.devices or len(shown) < len(given.devices):
        return {}
    return dict(zip(given.devices, shown, strict=False))
