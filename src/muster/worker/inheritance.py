"""What a supervisor that died has left: its workers are ended, and their ends are reported.

They could be kept alive only without their output and without their exit codes, and nobody would know what they do.
"""

import os
import signal
import time
from collections.abc import Iterable

from muster.model.reports import WorkersExited
from muster.processes import ProcessEntry
from muster.worker.cgroups import Cgroup
from muster.worker.crew import KILLED, now_ms
from muster.worker.environment import TOKEN_VARIABLE
from muster.worker.journal import Journal
from muster.worker.messages import encoded
from muster.worker.outfit import Premises, clear
from muster.worker.processes import boot_id, descendants, everybody, send_signal
from muster.worker.register import Seat
from muster.worker.segments import Segments, log_folder

PATIENCE_S = 30.0
"""How long a successor waits for what it killed; a process that waits for a dead disk may never go."""


def settle_inheritance(journal: Journal, premises: Premises) -> int:
    """End what the last supervisor left and note the ends. Returns how many workers of present attempts were lost."""
    register = journal.register
    lost = [seat for gang in register.gangs.values() for seat in gang.seats.values() if seat.end is None]
    leftovers = [*lost, *register.doomed.values()]
    if register.boot == boot_id():
        _end(leftovers)
    journal.add("boot", boot_id())
    for token in tuple(register.doomed):
        journal.add("gone", token)
    for seat in lost:
        journal.add("report", register.last_number + 1, _end_of(seat, register.gangs[seat.job].generation), synced=True)
    for seat in leftovers:
        _tidy(seat, premises)
    journal.flush()
    return len(lost)


def _end_of(seat: Seat, generation: int) -> dict[str, object]:
    return encoded(
        WorkersExited(
            at_ms=now_ms(),
            job=seat.job,
            attempt=seat.attempt,
            generation=generation,
            ranks=(seat.rank,),
            exit_code=KILLED,
            told=seat.is_told,
            timed_out=seat.is_overdue,
        )
    )


def _end(seats: list[Seat]) -> None:
    """Kill until nothing is found any more."""
    give_up_s = time.monotonic() + PATIENCE_S
    pause_s = 0.002
    while seats and time.monotonic() < give_up_s:
        for seat in seats:
            Cgroup(seat.folders).kill()
        found = _survivors(seats)
        if not found:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in found:
                send_signal(process, number)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.2)


def _survivors(seats: Iterable[Seat]) -> list[ProcessEntry]:
    """Every process that is one of these workers' or comes from one."""
    table = everybody()
    tokens = {seat.token for seat in seats}
    starts = {(seat.pid, seat.start_ticks) for seat in seats}
    roots = {pid for pid, each in table.items() if (pid, each.start_ticks) in starts or _token_of(pid) in tokens}
    for seat in seats:
        roots.update(Cgroup(seat.folders).members())
    return [each for each in descendants(sorted(roots), table) if each.pid != os.getpid()]


def _token_of(pid: int) -> str:
    prefix = f"{TOKEN_VARIABLE}=".encode()
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return ""
    return next((each.removeprefix(prefix).decode() for each in variables if each.startswith(prefix)), "")


def _tidy(seat: Seat, premises: Premises) -> None:
    Cgroup(seat.folders).remove()
    clear(premises.folder / "workers" / seat.token)
    Segments(log_folder(premises.home, seat.job, seat.attempt, seat.rank)).close()
