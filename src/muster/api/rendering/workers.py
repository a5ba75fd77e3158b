"""Placements as they are sent."""

from typing import Any

from muster.formats.units import plain_number
from muster.model.job import Placement, Worker


def worker_bodies(workers: Placement) -> list[dict[str, Any]]:
    """Each worker and where it is, by rank."""
    return [_worker_body(worker) for worker in workers]


def gpus_milli(workers: Placement) -> int:
    """What the workers occupy, in thousandths of a GPU."""
    return sum(_worker_milli(worker) for worker in workers)


def _worker_body(worker: Worker) -> dict[str, Any]:
    share = None if worker.share_milli is None else plain_number(worker.share_milli)
    return {"rank": worker.rank, "role": worker.role, "node": worker.node, "gpus": list(worker.gpus), "share": share}


def _worker_milli(worker: Worker) -> int:
    return worker.gpu_milli
