"""What a node runs, as it says itself when it is greeted: to be compared with what the database says."""

from muster.model.ids import JobId
from muster.model.job import Placement
from muster.model.node import Node
from muster.model.records import Record
from muster.model.spec import JobSpec


class FoundGang(Record, frozen=True, kw_only=True):
    """The part of a gang that a node runs."""

    job: JobId
    attempt: int
    generation: int
    workers: Placement
    spec: JobSpec | None = None
    """What it was started from; None where the node does not remember."""
    next_rank: int = 0
    """Above every rank of the attempt that the node has heard of, also of workers that have ended."""


class SeenJob(Record, frozen=True, kw_only=True):
    """The newest that a node has heard of a job, whether or not anything of it is alive."""

    job: JobId
    attempt: int
    generation: int
    next_rank: int = 0
    """Above every rank of that attempt that the node has heard of."""


def quarantined_gpus(gangs: tuple[FoundGang, ...], node: Node) -> tuple[int, ...]:
    """The devices of a node that are used by what is in quarantine there."""
    workers = (worker for gang in gangs for worker in gang.workers)
    return tuple(sorted({gpu for worker in workers for gpu in worker.gpus if gpu < node.gpus}))
