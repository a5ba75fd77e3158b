"""Which GPUs of a node are in use. Only the node knows for certain, whatever a control plane believes.

A control plane with an older database, or with none, may give out GPUs without knowing that they are in use.
"""

from collections.abc import Iterable

from muster.model.ids import JobId
from muster.model.job import Worker
from muster.model.resources import GPU_MILLI


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
