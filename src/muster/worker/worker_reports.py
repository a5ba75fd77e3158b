"""Reports about workers: that they have started, ended, or never started."""

import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.reports import ImagePulled, StartFailed, WorkersExited, WorkersStarted
from muster.worker.gang.companion import PROBLEM
from muster.worker.records.register import RegisteredGang, Seat

STOPPED, KILLED = 143, 137
"""Exit codes of workers that were stopped or killed before they had a process, as the signals would have caused."""

CANNOT_RUN = 126
"""The exit code of a shell for a command that exists but cannot be run."""


PROBLEM_BYTES = 1000
"""How much of it is reported: the program of the job could have written it."""


def started(gang: RegisteredGang, seat: Seat) -> WorkersStarted:
    """A worker has a process."""
    return WorkersStarted(
        at_ms=now_ms(), job=seat.job, attempt=seat.attempt, generation=gang.generation, ranks=(seat.rank,)
    )


def exited(
    generation: int,
    seat: Seat,
    code: int,
    *,
    oom: bool = False,
    has_finished: bool = False,
    problem: str = "",
    last_step: tuple[int, int] | None = None,
) -> WorkersExited:
    """A worker is gone. If its training was over by itself, it does not matter that it was told to leave as well."""
    step, step_ms = last_step or (None, None)
    return WorkersExited(
        at_ms=now_ms(),
        job=seat.job,
        attempt=seat.attempt,
        generation=generation,
        ranks=(seat.rank,),
        exit_code=code,
        oom=oom,
        told=seat.is_told and not has_finished,
        timed_out=seat.is_overdue and not has_finished,
        problem=problem,
        step=step,
        step_ms=step_ms,
    )


def problem_noted(folder: Path, code: int) -> str:
    """Why the program of a worker that failed could not be started, as what was to start it has written down.

    The job can write to this folder, so what is there may be no file, a link to one that is not its own, or endless.
    """
    if not code:
        return ""
    try:
        file = os.open(folder / PROBLEM, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        text = os.read(file, PROBLEM_BYTES) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    except OSError:
        return ""
    finally:
        os.close(file)
    return text.decode("utf-8", "replace")


def failed(gang: RegisteredGang, ranks: Iterable[int], message: str) -> StartFailed:
    """Workers have no process."""
    return StartFailed(
        at_ms=now_ms(),
        job=gang.job,
        attempt=gang.attempt,
        generation=gang.generation,
        ranks=tuple(ranks),
        message=message,
    )


def image_pulled(start: StartWorkers, node: NodeName, took_ms: int) -> ImagePulled:
    """The image of a job was not on a node, and is there now."""
    return ImagePulled(
        at_ms=now_ms(), job=start.job, attempt=start.attempt, node=node, image=start.spec.image, took_ms=took_ms
    )


def now_ms() -> int:
    """The time of day."""
    return time.time_ns() // 1_000_000
