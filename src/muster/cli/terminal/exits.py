"""What the exit code of a command says, in one place.

0 done · 1 the job failed · 2 wrong use or invalid file · 3 refused · 4 not found · 5 cannot reach the server ·
6 timed out or cancelled. `muster run` ends with the code of its program.
"""

from collections.abc import Iterable
from enum import IntEnum

from muster.model.errors import MusterError
from muster.model.job import JobState


class Exit(IntEnum):
    """The exit codes of `muster`."""

    DONE = 0
    FAILED = 1
    WRONG_USE = 2
    REFUSED = 3
    NOT_FOUND = 4
    UNREACHABLE = 5
    CANCELLED = 6


_OF_STATE = {
    JobState.SUCCEEDED: Exit.DONE,
    JobState.FAILED: Exit.FAILED,
    JobState.CANCELLED: Exit.CANCELLED,
    JobState.TIMED_OUT: Exit.CANCELLED,
}


def exit_of_error(error: MusterError) -> int:
    """The exit code for an error. Each kind of error has its own."""
    return error.exit_code


def exit_of_state(state: str) -> Exit:
    """The exit code of a command that waited for a job, which is now in this state."""
    return _OF_STATE.get(JobState(state), Exit.DONE) if state in tuple(JobState) else Exit.DONE


def exit_of_program(state: str, code: int | None) -> int:
    """The exit code of a command that ran a program as a job: the program's own code once it has ended by itself."""
    ended = exit_of_state(state)
    return code if ended is Exit.FAILED and code else ended


def exit_of_states(states: Iterable[str]) -> Exit:
    """The same for several jobs: a failed job counts more than a cancelled job."""
    found = [exit_of_state(state) for state in states]
    return next((each for each in (Exit.FAILED, Exit.CANCELLED) if each in found), Exit.DONE)
