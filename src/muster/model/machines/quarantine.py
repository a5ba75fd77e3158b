"""What a node runs, as it reports when a control plane greets it. It is compared with what the database says."""

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
    """The job file it was started from; None if the node does not remember it."""
    next_rank: int = 0
    """A number above every rank of the attempt that the node has seen, also of workers that have ended."""


class SeenJob(Record, frozen=True, kw_only=True):
    """The newest numbers that a node has seen of a job, even if none of its workers is alive."""

    job: JobId
    attempt: int
    generation: int
    next_rank: int = 0
    """A number above every rank of that attempt that the node has seen."""


def quarantined_gpus(gangs: tuple[FoundGang, ...], node: Node) -> tuple[int, ...]:
    """The devices of a node that quarantined workers use."""
    workers = (worker for gang in gangs for worker in gang.workers)
    return tuple(sorted({gpu for worker in workers for gpu in worker.gpus if gpu < node.gpus}))
