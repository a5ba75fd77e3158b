"""Placements as they are sent."""

from typing import Any

from muster.answers import jobs as answers
from muster.formats.text.units import plain_number
from muster.model.job import Placement, Worker


def worker_answers(workers: Placement) -> tuple[answers.Worker, ...]:
    """Each worker and its place, by rank."""
    return tuple(
        answers.Worker(rank=each.rank, role=each.role, node=each.node, gpus=each.gpus, share=_share(each))
        for each in workers
    )


def worker_bodies(workers: Placement) -> list[dict[str, Any]]:
    """The workers as plain values."""
    return [_worker_body(worker) for worker in workers]


def gpus_milli(workers: Placement) -> int:
    """The GPUs that the workers occupy, in thousandths."""
    return sum(_worker_milli(worker) for worker in workers)


def _worker_body(worker: Worker) -> dict[str, Any]:
    place = {"rank": worker.rank, "role": worker.role, "node": worker.node}
    return {**place, "gpus": list(worker.gpus), "share": _share(worker)}


def _share(worker: Worker) -> int | float | None:
    return None if worker.share_milli is None else plain_number(worker.share_milli)


def _worker_milli(worker: Worker) -> int:
    return worker.gpu_milli
