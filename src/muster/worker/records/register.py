"""What is known about the jobs on this node, as a fold over entries that a journal keeps.

A replay of the entries gives the same knowledge: which processes there may be, how others ended, and which reports are
not acknowledged. An entry is a list whose first item is its name:

    boot    id                                    what follows is about processes of this boot
    ruled   cluster epoch                         which commands are obeyed: of this database, from this epoch on
    fence   job attempt generation port           a command came; a newer attempt dooms the seats of the older one
    spec    job body                              what its present attempt runs
    seat    job rank token folders                a process is about to be started
    placed  job rank worker                       the devices that the process gets
    alive   job rank pid start_ticks              the process was started
    told    job rank                              it was told to leave
    overdue job rank                              the supervisor itself told it, because its maximum duration was over
    doomed  job attempt rank token folders pid start_ticks    left over from an older attempt
    dwelt   token worker                          the devices of a doomed worker
    gone    token                                 a doomed worker has ended
    report  number body                           a report to be sent; the end of a worker ends its seat
    ended   job rank body                         the end of a worker, whose report may be acknowledged already
    acked   number                                reports up to here were acknowledged
    counted number                                reports were numbered up to here
    forgot  job                                   no control plane will ask about it again
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from muster.model.ids import JobId
from muster.model.node_limits import SUPERVISOR_ENDED_JOBS
from muster.model.reports import StartFailed, WorkersExited
from muster.worker.records.superseding import SUPERSEDED, unneeded

Entry = Sequence[Any]
Body = dict[str, Any]

_ENDS = (WorkersExited.__name__, StartFailed.__name__)


@dataclass(slots=True, kw_only=True)
class Seat:
    """One worker of the present attempt, or a doomed worker of an older one."""

    job: JobId
    attempt: int
    rank: int
    token: str
    folders: tuple[str, ...] = ()
    """Its control groups."""
    pid: int | None = None
    start_ticks: int = 0
    is_told: bool = False
    worker: Body | None = None
    """Where it was placed, as the command said it."""
    is_overdue: bool = False
    """True when its maximum duration was over and the supervisor itself told it to leave."""
    end: Body | None = None
    """The report of its end, for as long as a control plane may ask again."""


@dataclass(slots=True, kw_only=True)
class RegisteredGang:
    """The part of one job's gang that is on this node."""

    job: JobId
    attempt: int = 0
    generation: int = 0
    port: int = 0
    """Where the whole gang meets."""
    spec: Body | None = None
    """What it runs, for a database that has forgotten it; kept only while it runs."""
    seats: dict[int, Seat] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """True when nothing of it is alive or about to be."""
        return all(seat.end is not None for seat in self.seats.values())

    @property
    def alive(self) -> Body:
        """The part of it that may be running, as a greeting says it."""
        workers = [seat.worker or {"rank": seat.rank} for seat in self.seats.values() if seat.end is None]
        return {
            "job": self.job,
            "attempt": self.attempt,
            "generation": self.generation,
            "spec": self.spec,
            "workers": workers,
        }


class Register:
    """The state of one node, changed by entries only."""

    def __init__(self) -> None:
        self.boot = ""
        self.cluster, self.epoch = "", 0
        """The database that governs this node, and the epoch of its newest control plane."""
        self.gangs: dict[JobId, RegisteredGang] = {}
        self.doomed: dict[str, Seat] = {}
        """By token: workers left over from older attempts, to be ended without a report."""
        self.reports: dict[int, Body] = {}
        """By number: reports that are not acknowledged yet."""
        self.last_number = 0

    @property
    def tokens(self) -> frozenset[str]:
        """The tokens of all workers that are known here, alive or not."""
        return frozenset((*(seat.token for gang in self.gangs.values() for seat in gang.seats.values()), *self.doomed))

    def living(self) -> list[Seat]:
        """Every worker that may have a process, or is about to get one."""
        present = [seat for gang in self.gangs.values() for seat in gang.seats.values() if seat.end is None]
        return [*present, *self.doomed.values()]

    def apply(self, entry: Entry) -> None:
        """Apply one entry. An unknown entry, written by a newer version, is ignored."""
        match entry:
            case ["boot", boot]:
                self.boot = boot
            case ["ruled", str(cluster), int(epoch)]:
                self.cluster, self.epoch = cluster, epoch
            case ["spec", job, body]:
                self.gangs[job].spec = body
            case ["fence", job, attempt, generation, port]:
                self._fence(self.gangs.setdefault(job, RegisteredGang(job=job)), attempt, generation, port)
            case ["report", number, body]:
                self._report(number, body)
            case ["acked", number]:
                self._acknowledge(number)
            case ["counted", number]:
                self.last_number = max(self.last_number, number)
            case ["forgot", job]:
                self.gangs.pop(job, None)
            case _:
                self._apply_to_seat(entry)

    def _apply_to_seat(self, entry: Entry) -> None:
        match entry:
            case ["seat", job, rank, token, folders]:
                self._seat(job, rank, token, tuple(folders))
            case ["alive", job, rank, pid, start_ticks]:
                seat = self.gangs[job].seats[rank]
                seat.pid, seat.start_ticks = pid, start_ticks
            case ["told", job, rank]:
                self.gangs[job].seats[rank].is_told = True
            case ["placed", job, rank, worker]:
                self.gangs[job].seats[rank].worker = worker
            case ["overdue", job, rank]:
                self.gangs[job].seats[rank].is_overdue = True
            case ["ended", job, rank, body]:
                self.gangs[job].seats[rank].end = body
            case ["doomed", job, attempt, rank, token, folders, pid, start_ticks]:
                seat = Seat(job=job, attempt=attempt, rank=rank, token=token, folders=tuple(folders))
                seat.pid, seat.start_ticks = pid, start_ticks
                self.doomed[token] = seat
            case ["dwelt", token, worker]:
                self.doomed[token].worker = worker
            case ["gone", token]:
                self.doomed.pop(token, None)
            case _:
                pass

    def _seat(self, job: JobId, rank: int, token: str, folders: tuple[str, ...]) -> None:
        gang = self.gangs.get(job)
        if gang is None:
            # Only after damage: its attempt is unknown, but the worker must not go on.
            self.doomed[token] = Seat(job=job, attempt=0, rank=rank, token=token, folders=folders)
        else:
            known = gang.seats.get(rank)
            worker = None if known is None else known.worker
            gang.seats[rank] = Seat(
                job=job, attempt=gang.attempt, rank=rank, token=token, folders=folders, worker=worker
            )

    def _fence(self, gang: RegisteredGang, attempt: int, generation: int, port: int) -> None:
        if attempt > gang.attempt:
            self.doomed.update((seat.token, seat) for seat in gang.seats.values() if seat.end is None)
            gang.seats, gang.spec = {}, None
            gang.attempt = attempt
        gang.generation = max(gang.generation, generation)
        gang.port = port or gang.port

    def _report(self, number: int, body: Body) -> None:
        kind, job, attempt = body["type"], body["job"], body["attempt"]  # first: a damaged report changes nothing
        self.last_number = max(self.last_number, number)
        self.reports[number] = body
        if kind in SUPERSEDED:
            self._supersede(kind, job, attempt)
        gang = self.gangs.get(job)
        if kind in _ENDS and gang is not None and gang.attempt == attempt:
            for rank in body["ranks"]:
                if rank in gang.seats:
                    gang.seats[rank].end = body

    def _supersede(self, kind: str, job: JobId, attempt: int) -> None:
        """Drop reports on checkpoints of an attempt that newer ones make unnecessary."""
        place = (kind, job, attempt)
        steps = {
            number: body.get("step", 0)
            for number, body in self.reports.items()
            if (body["type"], body["job"], body["attempt"]) == place
        }
        for number in unneeded(kind, steps):
            del self.reports[number]

    def _acknowledge(self, number: int) -> None:
        for heard in [each for each in self.reports if each <= number]:
            del self.reports[heard]

    def forgettable(self) -> list[JobId]:
        """Jobs that are over, oldest first, once there are too many. Jobs with unacknowledged reports are kept."""
        excess = len(self.gangs) - SUPERVISOR_ENDED_JOBS
        if excess < SUPERVISOR_ENDED_JOBS // 10:  # in batches, because finding them is a walk over all jobs
            return []
        unsaid = {body["job"] for body in self.reports.values()}
        over = [job for job, gang in self.gangs.items() if gang.is_over and job not in unsaid]
        return over[:excess]

    def entries(self) -> Iterator[Entry]:
        """The fewest entries that lead to this state."""
        yield ["boot", self.boot]
        yield ["ruled", self.cluster, self.epoch]
        for seat in self.doomed.values():
            place = [seat.job, seat.attempt, seat.rank, seat.token, list(seat.folders)]
            yield ["doomed", *place, seat.pid, seat.start_ticks]
            if seat.worker is not None:
                yield ["dwelt", seat.token, seat.worker]
        for gang in self.gangs.values():
            yield ["fence", gang.job, gang.attempt, gang.generation, gang.port]
            if gang.spec is not None and not gang.is_over:
                yield ["spec", gang.job, gang.spec]
            for seat in gang.seats.values():
                yield from self._seat_entries(seat)
        for number, body in self.reports.items():
            yield ["report", number, body]
        # Reports are numbered on from here, also when all were acknowledged.
        yield ["counted", self.last_number]

    def _seat_entries(self, seat: Seat) -> Iterator[Entry]:
        yield ["seat", seat.job, seat.rank, seat.token, list(seat.folders)]
        if seat.worker is not None and seat.end is None:
            yield ["placed", seat.job, seat.rank, seat.worker]
        if seat.pid is not None:
            yield ["alive", seat.job, seat.rank, seat.pid, seat.start_ticks]
        if seat.is_told:
            yield ["told", seat.job, seat.rank]
        if seat.is_overdue:
            yield ["overdue", seat.job, seat.rank]
        if seat.end is not None:
            yield ["ended", seat.job, seat.rank, seat.end]
