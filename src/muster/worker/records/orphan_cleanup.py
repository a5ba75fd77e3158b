"""Ends the workers that a dead supervisor left, and reports their ends once they are gone.

They could be kept alive only without their output and without their exit codes, and no one would know what they do.
Workers whose programs had ended by themselves are not lost: each has left a record of its exit code.
A worker that does not end, because it waits for a dead disk, holds its GPUs. It is killed again and again, and its end
is reported when it is gone and not before.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.locks import has_locked
from muster.model.ids import NodeName
from muster.processes import ProcessEntry
from muster.worker.gang.companion import FINISHED
from muster.worker.launch.runtime_folder import exit_record, remove, runtime_folder, scratch_folder
from muster.worker.launch.working_copies import give_back_copies
from muster.worker.messages import encoded
from muster.worker.output.segments import Segments, log_folder
from muster.worker.processes.cgroups import Cgroup
from muster.worker.processes.process_table import boot_id, descendants, everybody, send_signal
from muster.worker.processes.signs import Signs, borne_by
from muster.worker.processes.strays import end_strays
from muster.worker.records.journal import JOURNAL, Journal, known_tokens
from muster.worker.records.register import Seat
from muster.worker.training.worker_boards import FOLDER as BOARDS
from muster.worker.training.worker_boards import found_boards
from muster.worker.worker_reports import KILLED, exited

PATIENCE_S = 5.0
"""How long a successor waits for what it killed before it serves. Nearly everything is gone within milliseconds."""

LOCK = "lock"
"""The name of the lock in the node's folder. The node's supervisor holds it, or a process that sweeps in its place."""

LOCK_WAIT_S = 2.0
"""How long a sweep waits for the lock: a process that was just killed holds its lock for a moment longer."""

CUT_NOTE = b"\n[muster: the supervisor of this worker died; the last that it printed may be missing]\n"


class Unnoted(OSError):
    """No leftover worker is alive, but how some of them ended is known from their exit records only."""


class OrphanCleanup:
    """The workers that a predecessor left, until they are gone."""

    def __init__(self, journal: Journal, home: Path, workers: Path) -> None:
        """`workers` is the folder in which each worker of the node has its own folder."""
        self._journal = journal
        self._home = home
        self._workers = workers
        register = journal.register
        self._left = register.living()
        self._codes = _exit_codes(self._left, workers)
        """By token, the exit codes of workers that had ended by themselves. Read before anything is killed, so that no
        killed worker is taken for one of them."""
        lost = [seat for seat in self._left if seat.token not in register.doomed and seat.token not in self._codes]
        self.lost = len(lost)
        """How many workers of present attempts a predecessor left without an exit record."""
        self._noted: list[Seat] = []
        """Workers that are gone. The next successor needs their exit records until their ends are on disk."""
        self.lost_after = register.last_number
        """The number of the last report about a worker that ended by itself."""

    @property
    def is_settled(self) -> bool:
        """True when all leftover workers are gone."""
        return not self._left

    @property
    def left(self) -> tuple[Seat, ...]:
        """The workers that may be alive."""
        return tuple(self._left)

    def settle(self, patience_s: float = PATIENCE_S) -> None:
        """End the leftover workers, and record the ends of all that are gone."""
        alive = self._end(patience_s)
        self._journal.add("boot", boot_id())
        self._note_finished(alive)
        self.lost_after = self._journal.register.last_number
        self._note_gone([seat for seat in self._left if seat.token in alive], _ignored)

    def sweep(self, patience_s: float = PATIENCE_S) -> tuple[Seat, ...]:
        """End the leftover workers, and record the ends of workers that had ended by themselves. Returns what is alive.

        Workers that this kills are left for a successor to record: their node has lost them. Raises `Unnoted` when
        nothing is alive and the disk takes nothing.
        """
        alive = self._end(patience_s)
        self._note_finished(alive)
        if self._noted and not alive:
            raise Unnoted("how workers ended cannot be noted in the journal: is the disk full?")
        return tuple(seat for seat in self._left if seat.token in alive)

    def _end(self, patience_s: float) -> frozenset[str]:
        """End the leftover workers. Returns the tokens of workers that are still alive."""
        is_of_now = self._journal.register.boot == boot_id()
        return frozenset(seat.token for seat in _ended(self._left, patience_s)) if is_of_now else frozenset()

    def _note_finished(self, alive: frozenset[str]) -> None:
        self._note_gone([seat for seat in self._left if seat.token in alive or seat.token not in self._codes], _ignored)

    def look(self, gone: Callable[[Seat], None]) -> None:
        """Try again to end what is still alive. Calls `gone` for each worker that is gone, once that is recorded."""
        self._note_gone(_ended(self._left, 0.0), gone)

    def _note_gone(self, alive: list[Seat], gone: Callable[[Seat], None]) -> None:
        tokens = frozenset(seat.token for seat in alive)
        ended, self._left = [seat for seat in self._left if seat.token not in tokens], alive
        for seat in ended:
            self._note(seat)
        self._noted += ended
        self._journal.flush(at_once=bool(ended))
        if not self._journal.is_stale:
            self.tidy_up()
        for seat in ended:
            gone(seat)

    def tidy_up(self) -> None:
        """Remove what is left of workers that are gone. Call it when the whole journal is on disk."""
        noted, self._noted = self._noted, []
        for seat in noted:
            _tidy(seat, self._home, self._workers)

    def _note(self, seat: Seat) -> None:
        register = self._journal.register
        if seat.token in register.doomed:
            self._journal.add("gone", seat.token)
        else:
            code = self._codes.get(seat.token)
            has_finished = code == 0 and _has_finished(self._workers / seat.token)
            body = _end_of(seat, register.gangs[seat.job].generation, code, has_finished=has_finished)
            self._journal.add("report", register.last_number + 1, body, synced=True)


def sweep(folder: Path) -> tuple[str, ...]:
    """End what a dead supervisor of a node left, in the place of a successor. Returns what is still alive, in words.

    A node with a living supervisor is left alone, with what it runs. Raises `Unnoted` when nothing is alive and the
    journal could not be written. Then exit records are kept, and the next sweep or a successor reads them.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock_of(folder) as is_taken:
        if is_taken:
            return ("what its living supervisor runs",)
        home = folder.parent.parent
        strays = end_strays(home, folder.name, known_tokens(folder / JOURNAL))
        if not (folder / JOURNAL).is_file():
            return strays  # the node has never run anything that its files know of
        journal = Journal(folder / JOURNAL)
        try:
            alive = OrphanCleanup(journal, home, runtime_folder(home) / folder.name).sweep(PATIENCE_S)
        finally:
            journal.close()
        if not alive:
            give_back_copies(scratch_folder(home, os.environ), NodeName(folder.name))
    seated = (f"rank {seat.rank} of {seat.job}, attempt {seat.attempt} (process {seat.pid})" for seat in alive)
    return (*strays, *seated)


@contextmanager
def _lock_of(folder: Path) -> Iterator[bool]:
    """Hold the node's lock, so that no supervisor starts meanwhile. Yields True when another process holds it."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield not has_locked(lock, LOCK_WAIT_S)
    finally:
        os.close(lock)


def _ignored(_: Seat) -> None:
    """No start waits for this worker."""


def _exit_codes(seats: list[Seat], workers: Path) -> dict[str, int]:
    records = ((seat.token, exit_record(workers / seat.token)) for seat in seats)
    return {token: code for token, code in records if code is not None}


def _has_finished(folder: Path) -> bool:
    """True when a worker was done, though it may have been told to leave: its boards say so, or its script."""
    if (folder / FINISHED).exists():
        return True
    boards = found_boards(folder)
    try:
        return boards.have_finished
    finally:
        boards.close()


def _end_of(seat: Seat, generation: int, code: int | None, *, has_finished: bool) -> dict[str, object]:
    """The report of an end: as the worker's own exit record says, or else as killed."""
    is_oom = bool(code) and Cgroup(seat.folders).ran_out_of_memory()
    return encoded(exited(generation, seat, KILLED if code is None else code, oom=is_oom, has_finished=has_finished))


def _ended(seats: list[Seat], patience_s: float) -> list[Seat]:
    """Kill until nothing is found any more, or `patience_s` is over. Returns the seats that still have processes."""
    give_up_s = time.monotonic() + patience_s
    pause_s = 0.002
    alive = seats
    while alive:
        for seat in alive:
            Cgroup(seat.folders).kill()
        found = _survivors(alive)
        alive = [seat for seat in alive if found[seat.token]]
        processes = {each.pid: each for seat in alive for each in found[seat.token]}
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in processes.values():
                send_signal(process, number)
        if time.monotonic() >= give_up_s:
            break
        time.sleep(pause_s if alive else 0)
        pause_s = min(2 * pause_s, 0.2)
    return alive


def _survivors(seats: Iterable[Seat]) -> dict[str, list[ProcessEntry]]:
    """By token, every process of this worker and all their descendants."""
    table = everybody()
    borne = {pid: borne_by(pid) for pid in table}
    found = {}
    for seat in seats:
        signs = Signs(token=seat.token, main=seat.pid, start_ticks=seat.start_ticks)
        roots = {pid for pid, each in table.items() if signs.are_on(each, borne[pid])}
        roots.update(Cgroup(seat.folders).members())
        found[seat.token] = [each for each in descendants(sorted(roots), table) if each.pid != os.getpid()]
    return found


def _tidy(seat: Seat, home: Path, workers: Path) -> None:
    Cgroup(seat.folders).remove()
    remove(workers / seat.token / BOARDS)
    remove(workers / seat.token)
    log = Segments(log_folder(home, seat.job, seat.attempt, seat.rank))
    log.write(CUT_NOTE)
    log.close()
