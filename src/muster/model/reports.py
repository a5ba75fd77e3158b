"""What a node reports about the workers it runs: the events that a supervisor needs to know.

A separate module, so that a supervisor starts in a tenth of a second without loading the other events.
"""

from muster.model.ids import JobId
from muster.model.records import Record


class WorkersStarted(Record, frozen=True, kw_only=True):
    """The processes of these workers are alive."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    ranks: tuple[int, ...]


class WorkersExited(Record, frozen=True, kw_only=True):
    """The processes of these workers are gone, all in the same way."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    ranks: tuple[int, ...]
    exit_code: int
    oom: bool = False
    """Killed because memory ran out, on the host or on the GPU."""
    told: bool = False
    """A stop had reached them before. Exit code 0 then means "saved", not "finished"."""
    timed_out: bool = False
    """Their node ended them, because their maximum duration was over and no control plane was there to do it."""


class StartFailed(Record, frozen=True, kw_only=True):
    """These workers have no process: the backend could not start them, or does not know them."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    ranks: tuple[int, ...]
    message: str = ""


class CheckpointSaved(Record, frozen=True, kw_only=True):
    """The job saved itself completely. A later attempt can resume from here."""

    at_ms: int
    job: JobId
    attempt: int
    cost_ms: int = 0
    """How long training stood still for it."""
    saved_ms: int | None = None
    """When the save was complete, if the report came late."""
