"""Which worker is on which node. Turns a command for a gang into commands for nodes.

Every node of a gang receives every command of its job, also one that names none of its workers. So the newest
generation is known wherever it matters.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import assert_never

from muster.model.events import ObservedEvent, StartFailed, WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint, Command, KillWorkers, SignalStop, StartWorkers, ranks_named
from muster.model.job import Worker
from muster.model.node_limits import SUPERVISOR_ENDED_JOBS
from muster.model.records import evolve

FORMER_ATTEMPTS = 3
"""How many attempts before the present one are remembered with the nodes of their workers. Older ones are long gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCommand:
    """A command for one node."""

    node: NodeName
    command: Command
    port: int
    """Where the gang meets; 0 when it does not matter."""


@dataclass(slots=True, kw_only=True)
class _Listing:
    """What is known about one job."""

    attempt: int = 0
    generation: int = 0
    port: int = 0
    nodes: dict[int, NodeName] = field(default_factory=dict)
    """By rank, the nodes of the present attempt."""
    ended: dict[int, None] = field(default_factory=dict)
    others: dict[NodeName, None] = field(default_factory=dict)
    """Nodes of earlier attempts that have not heard of the present one."""
    former: dict[tuple[int, int], NodeName] = field(default_factory=dict)
    """By attempt and rank, the nodes of workers of the last attempts, which may be about to end."""

    @property
    def is_over(self) -> bool:
        """True when every worker of the present attempt has ended."""
        return len(self.ended) >= len(self.nodes)


class WorkerRouting:
    """All jobs that have workers on nodes, and the last ones that had."""

    def __init__(self, free_port: Callable[[JobId, int, frozenset[int]], int]) -> None:
        self.post_of: Callable[[StartWorkers, Worker], NodeName] = lambda _, worker: worker.node
        """Where the supervisor of a worker serves. The names of nodes here stand for such posts."""
        self._free_port = free_port
        self._listings: dict[JobId, _Listing] = {}

    def learn(self, node: NodeName, job: JobId, attempt: int, generation: int, port: int, ranks: Iterable[int]) -> None:
        """A node says what it knows of a job."""
        listing = self._listings.setdefault(job, _Listing())
        listing.generation = max(listing.generation, generation)
        if attempt < listing.attempt:
            listing.others[node] = None
            listing.former.update(dict.fromkeys(((attempt, rank) for rank in ranks), node))
            return
        if attempt > listing.attempt:
            self._begin(listing, attempt)
        listing.port = port or listing.port
        listing.nodes.update(dict.fromkeys(ranks, node))

    def learn_doomed(self, node: NodeName, job: JobId, attempt: int, rank: int) -> None:
        """A node says that a worker of an older attempt has not gone yet."""
        self._listings.setdefault(job, _Listing()).former[attempt, rank] = node

    def generation(self, job: JobId) -> int:
        """The newest generation of a job that was heard of."""
        listing = self._listings.get(job)
        return 0 if listing is None else listing.generation

    def node_of(self, job: JobId, rank: int | None = None) -> NodeName | None:
        """The node of a worker; without a rank, of the first worker of the gang."""
        listing = self._listings.get(job)
        if listing is None or not listing.nodes:
            return None
        return listing.nodes.get(min(listing.nodes) if rank is None else rank)

    def nodes_of(self, job: JobId) -> tuple[NodeName, ...]:
        """The nodes of the workers of a job. May be called on any thread."""
        listing = self._listings.get(job)
        return () if listing is None else tuple(dict.fromkeys(tuple(listing.nodes.values())))

    def has_run(self, node: NodeName, job: JobId) -> bool:
        """True when a job has or had workers on a node, as far as that is remembered. May be called on any thread."""
        listing = self._listings.get(job)
        if listing is None:
            return False
        return node in (*tuple(listing.nodes.values()), *tuple(listing.former.values()), *tuple(listing.others))

    def is_running(self, job: JobId, attempt: int) -> bool:
        """True while this is the newest attempt of the job, and some of its workers have not ended."""
        listing = self._listings.get(job)
        return listing is not None and listing.attempt == attempt and not listing.is_over

    def swept(self, node: NodeName) -> None:
        """Nothing is left of what this node ran."""
        for listing in self._listings.values():
            listing.ended.update((rank, None) for rank, where in listing.nodes.items() if where == node)

    def is_older(self, command: Command) -> bool:
        """True for a command that came after a newer one of its job."""
        listing = self._listings.get(command.job)
        return listing is not None and command.generation < listing.generation

    def is_of_older_attempt(self, command: Command) -> bool:
        """True for a command for workers of an attempt that a newer one has replaced."""
        listing = self._listings.get(command.job)
        return listing is not None and command.attempt < listing.attempt

    def unplaced(self, command: Command) -> tuple[int, ...]:
        """The ranks in a stop, a kill, or any command for an older attempt, of workers whose node is not known."""
        listing = self._listings.get(command.job)
        if listing is not None and command.attempt < listing.attempt:
            return tuple(rank for rank in ranks_named(command) if (command.attempt, rank) not in listing.former)
        if not isinstance(command, SignalStop | KillWorkers):
            return ()
        known = listing.nodes if listing is not None and listing.attempt == command.attempt else {}
        return tuple(rank for rank in command.ranks if rank not in known)

    def route(self, command: Command) -> list[NodeCommand]:
        """The commands for each node that this one concerns. Remembers its generation, and where its workers are.

        A command for an older attempt goes to where its workers were. Only nodes know whether these workers are gone.
        """
        listing = self._listings.setdefault(command.job, _Listing())
        if command.attempt < listing.attempt:
            return _older_errands(command, listing)
        listing.generation = max(listing.generation, command.generation)
        if command.attempt > listing.attempt:
            self._begin(listing, command.attempt)
        if isinstance(command, StartWorkers):
            listing.nodes.update((worker.rank, self.post_of(command, worker)) for worker in command.gang)
            for worker in command.workers:  # one that replaces a worker has its rank
                listing.ended.pop(worker.rank, None)
            listing.port = listing.port or self._port(command)
        nodes = dict.fromkeys((*listing.nodes.values(), *listing.others))
        listing.others = {}
        return [NodeCommand(node=node, command=_part(command, listing, node), port=listing.port) for node in nodes]

    def heard(self, report: ObservedEvent) -> None:
        """Something is reported. Jobs that are over are forgotten, oldest first, when there are too many."""
        listing = self._listings.get(report.job) if isinstance(report, WorkersExited | StartFailed) else None
        if not isinstance(report, WorkersExited | StartFailed) or listing is None or listing.attempt != report.attempt:
            return
        listing.ended.update(dict.fromkeys(report.ranks))
        if len(self._listings) > 2 * SUPERVISOR_ENDED_JOBS:
            over = [job for job, each in self._listings.items() if each.is_over]
            for job in over[:SUPERVISOR_ENDED_JOBS]:
                del self._listings[job]

    def _begin(self, listing: _Listing, attempt: int) -> None:
        listing.others.update(dict.fromkeys(listing.nodes.values()))
        listing.former = {
            place: node for place, node in listing.former.items() if place[0] >= attempt - FORMER_ATTEMPTS
        } | {(listing.attempt, rank): node for rank, node in listing.nodes.items()}
        listing.attempt, listing.port = attempt, 0
        listing.nodes, listing.ended = {}, {}

    def _port(self, start: StartWorkers) -> int:
        living = (each for each in self._listings.values() if len(each.ended) < len(each.nodes))
        taken = frozenset(each.port for each in living if each.port)
        return self._free_port(start.job, start.attempt, taken)


def _older_errands(command: Command, listing: _Listing) -> list[NodeCommand]:
    """The commands for workers that a newer attempt has replaced."""
    ranks: dict[NodeName, list[int]] = {}
    for rank in ranks_named(command):
        if (node := listing.former.get((command.attempt, rank))) is not None:
            ranks.setdefault(node, []).append(rank)
    return [NodeCommand(node=node, command=_only(command, tuple(of_node)), port=0) for node, of_node in ranks.items()]


def _only(command: Command, ranks: tuple[int, ...]) -> Command:
    """A command reduced to these ranks."""
    match command:
        case StartWorkers():
            return evolve(command, workers=tuple(worker for worker in command.workers if worker.rank in ranks))
        case SignalStop() | KillWorkers():
            return evolve(command, ranks=ranks)
        case AskCheckpoint():
            return command
        case _:
            assert_never(command)


def _part(command: Command, listing: _Listing, node: NodeName) -> Command:
    """The part of a command that one node receives."""
    match command:
        case StartWorkers():
            return _only(
                command, tuple(worker.rank for worker in command.workers if listing.nodes[worker.rank] == node)
            )
        case SignalStop() | KillWorkers():
            return _only(command, tuple(rank for rank in command.ranks if listing.nodes.get(rank) == node))
        case AskCheckpoint():
            return command
        case _:
            assert_never(command)


def denied(command: Command, ranks: tuple[int, ...], message: str, at_ms: int) -> StartFailed:
    """The report that workers which no node knows do not exist."""
    return StartFailed(
        at_ms=at_ms,
        job=command.job,
        attempt=command.attempt,
        generation=command.generation,
        ranks=ranks,
        message=message,
    )
