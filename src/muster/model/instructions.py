"""What must be done after an event. Every instruction can be sent twice without harm.

Commands go to a backend and are fenced by `(job, attempt, generation)`. Generations only rise, and a backend refuses a
command that is older than the newest generation it has seen for the job. A wake-up stays inside the engine.
"""

from typing import assert_never

from muster.model.ids import JobId
from muster.model.job import Cause, Placement
from muster.model.records import Record
from muster.model.spec import JobSpec


class StartWorkers(Record, frozen=True, kw_only=True):
    """Start these workers where they are placed, each once."""

    job: JobId
    attempt: int
    generation: int
    spec: JobSpec
    workers: Placement
    """The workers to start."""
    gang: Placement
    """All workers of the gang, so that each can find the others."""
    max_duration_ms: int | None = None
    """How long they may run from now on; None means no limit. Their node enforces it while no control plane does."""
    run: str = ""
    """Names the run over all attempts of the job, also beside jobs of other databases."""
    resume_step: int | None = None
    """The step of the checkpoint that all ranks resume from; None to begin from the start, or if it is not known."""
    is_resume_durable: bool = False
    """True when that checkpoint is whole in durable storage."""


class SignalStop(Record, frozen=True, kw_only=True):
    """Tell these workers to save themselves and leave."""

    job: JobId
    attempt: int
    generation: int
    ranks: tuple[int, ...]
    grace_ms: int
    """How long they may take. Killing them afterwards is a separate instruction."""
    cause: Cause


class KillWorkers(Record, frozen=True, kw_only=True):
    """End these workers and everything they started, at once."""

    job: JobId
    attempt: int
    generation: int
    ranks: tuple[int, ...]


class AskCheckpoint(Record, frozen=True, kw_only=True):
    """Ask the job to save itself and go on."""

    job: JobId
    attempt: int
    generation: int
    every_ms: int = 0
    """How much work may be lost. So it goes on saving while no control plane asks; 0 when not known."""
    cost_ms: int = 0
    """How long training stood still for its last save; 0 when not known."""
    took_ms: int = 0
    """From the step of its last save until all parts were on disk; 0 when not known."""


class WakeAt(Record, frozen=True, kw_only=True):
    """Send the job a `TimerFired` event at this time."""

    job: JobId
    at_ms: int


Command = StartWorkers | SignalStop | KillWorkers | AskCheckpoint
"""An instruction for a backend."""

Instruction = Command | WakeAt


def ranks_named(command: Command) -> tuple[int, ...]:
    """The workers that a command names."""
    match command:
        case StartWorkers(workers=workers):
            return tuple(worker.rank for worker in workers)
        case SignalStop(ranks=ranks) | KillWorkers(ranks=ranks):
            return ranks
        case AskCheckpoint():
            return ()
        case _:
            assert_never(command)
