"""Which workers sit where. A seat is a role and devices on a node; a rank names the process in it.

A resize in place keeps the processes whose seats stay, with their ranks. Newcomers get ranks that no worker of the
attempt has had before, so that a late report can only be about the process that it names. Modulo the largest size of
the gang, ranks are distinct too: that numbers replica groups from 0, and all of them agree on it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.model.ids import NodeName
from muster.model.job import Job, Placement, Worker, beyond
from muster.model.records import evolve

_Seat = tuple[str, NodeName, tuple[int, ...], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reseating:
    """A resize seen from its workers."""

    kept: Placement
    leaving: Placement
    joining: Placement

    @property
    def is_possible(self) -> bool:
        """True when it changes something, some worker stays, and no worker joins on a device that is not free yet."""
        is_change = bool(self.leaving or self.joining)
        return is_change and bool(self.kept) and not _share_devices(self.leaving, self.joining)

    @property
    def workers(self) -> Placement:
        """The whole gang after the change, by rank."""
        return tuple(sorted((*self.kept, *self.joining), key=_rank))

    @property
    def keeps_first(self) -> bool:
        """True when the first worker of the gang stays."""
        return min(ranks_of((*self.kept, *self.leaving))) in ranks_of(self.kept)


def with_processes(job: Job) -> Placement:
    """Every worker that may have a process, including workers that are leaving."""
    return (*job.workers, *job.leaving) if job.leaving else job.workers


def occupied(job: Job) -> Placement:
    """Every seat whose GPUs are not free: of workers, of workers that are leaving, and kept for the next attempt."""
    return (*with_processes(job), *beyond(job.next_gang, with_processes(job))) if job.next_gang else with_processes(job)


def gpu_milli(job: Job) -> int:
    """GPUs that the job occupies, in thousandths."""
    return sum([worker.gpu_milli for worker in occupied(job)])


def alive_ranks(job: Job) -> tuple[int, ...]:
    """Ranks that may have a process, including workers that are leaving, in order."""
    ranks = sorted([worker.rank for worker in with_processes(job)])
    if job.exited_ranks:
        exited = frozenset(job.exited_ranks)
        ranks = [rank for rank in ranks if rank not in exited]
    return tuple(ranks)


def current_ranks(job: Job, ranks: Iterable[int], generation: int) -> tuple[int, ...]:
    """The reported ranks that may still have a process; none if the report is not about the present attempt."""
    if not job.attempt_generation <= generation <= job.generation:
        return ()
    alive, reported = alive_ranks(job), tuple(ranks)
    if reported == alive:  # most reports are about a whole gang
        return alive
    known = frozenset(alive)
    return tuple([rank for rank in sorted(dict.fromkeys(reported)) if rank in known])


def ranks_of(workers: Placement) -> tuple[int, ...]:
    """The ranks of these workers, in their order."""
    return tuple([worker.rank for worker in workers])


def nodes_of(workers: Iterable[Worker]) -> tuple[NodeName, ...]:
    """The nodes of these workers, in their order, each once."""
    return tuple(dict.fromkeys(worker.node for worker in workers))


def reseat(job: Job, wanted: Placement) -> Reseating:
    """Which workers stay, leave and join when `wanted` becomes the whole gang of the job.

    A worker stays if its seat is in `wanted`. Planning may have given new ranks, but a process keeps its rank.
    """
    sitting: dict[_Seat, list[Worker]] = {}
    for worker in reversed(job.workers):
        sitting.setdefault(_seat(worker), []).append(worker)
    kept, newcomers = [], []
    for worker in wanted:
        if seated := sitting.get(_seat(worker)):
            kept.append(seated.pop())
        else:
            newcomers.append(worker)
    leaving = sorted((worker for rest in sitting.values() for worker in rest), key=_rank)
    ranks = _new_ranks(job, ranks_of(tuple(kept)), len(newcomers))
    return Reseating(
        kept=tuple(sorted(kept, key=_rank)),
        leaving=tuple(leaving),
        joining=tuple(evolve(worker, rank=rank) for rank, worker in zip(ranks, newcomers, strict=True)),
    )


def _new_ranks(job: Job, kept: tuple[int, ...], count: int) -> list[int]:
    """Ranks for newcomers. Where a gang is larger than it may be, its newcomers get the ranks that come next."""
    most = job.spec.workers_most
    numbers = {rank % most: None for rank in kept}
    found: list[int] = []
    rank = job.next_rank
    while len(found) < count:
        if rank % most not in numbers or len(numbers) >= most:
            numbers[rank % most] = None
            found.append(rank)
        rank += 1
    return found


def _share_devices(some: Placement, others: Placement) -> bool:
    devices = frozenset((worker.node, gpu) for worker in some for gpu in worker.gpus)
    return any((worker.node, gpu) in devices for worker in others for gpu in worker.gpus)


def _seat(worker: Worker) -> _Seat:
    return (worker.role, worker.node, worker.gpus, worker.share_milli)


def _rank(worker: Worker) -> int:
    return worker.rank
