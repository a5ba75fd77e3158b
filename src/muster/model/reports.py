"""What a node reports about the workers it runs: the events that a supervisor needs to know.

A separate module, so that a supervisor starts in a tenth of a second without loading the other events.
"""

from muster.model.ids import JobId, NodeName
from muster.model.job import Cause
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
    problem: str = ""
    """Why the program could not be started, such as a folder that is missing; empty when it was started."""
    ended_for: Cause | None = None
    """Why the engine of their node ended them; None when it did not."""
    because: str = ""
    """The same in the engine's words."""
    step: int | None = None
    """The last step of their training; None when they did not say how far they were."""
    step_ms: int | None = None
    """When they finished it."""


class StartFailed(Record, frozen=True, kw_only=True):
    """These workers have no process: the backend could not start them, or does not know them."""

    at_ms: int
    job: JobId
    attempt: int
    generation: int
    ranks: tuple[int, ...]
    message: str = ""


class ImagePulled(Record, frozen=True, kw_only=True):
    """The image of an attempt was not on a node and had to be brought there. Until then its workers waited."""

    at_ms: int
    job: JobId
    attempt: int
    node: NodeName
    image: str
    took_ms: int


class RuntimeFound(Record, frozen=True, kw_only=True):
    """A node says which container runtime it has."""

    at_ms: int
    node: NodeName
    runtime: str = ""
    """Its name; empty when the node has none that works."""


class CheckpointSaved(Record, frozen=True, kw_only=True):
    """The job saved itself completely. A later attempt can resume from here."""

    at_ms: int
    job: JobId
    attempt: int
    cost_ms: int = 0
    """How long training stood still for it."""
    saved_ms: int | None = None
    """When the save was complete, if the report came late."""


class ShardsSaved(Record, frozen=True, kw_only=True):
    """Ranks on one node have written their parts of a checkpoint. It is complete when all ranks have."""

    at_ms: int
    job: JobId
    attempt: int
    node: NodeName
    step: int
    world: int
    """How many ranks save a part, one for each process."""
    ranks: tuple[int, ...]
    bytes: int = 0
    cost_ms: int = 0
    """How long training stood still for it."""
    saved_ms: int | None = None
    """When these parts were written, if the report came late."""
    took_ms: int = 0
    """From the step that was saved until the last of these parts was on disk; 0 when it is not known."""


class CheckpointUploaded(Record, frozen=True, kw_only=True):
    """A checkpoint is complete in durable storage, or could not be copied there yet."""

    at_ms: int
    job: JobId
    attempt: int
    step: int
    problem: str = ""
    """Why it failed; empty when it is there."""


class CheckpointDamaged(Record, frozen=True, kw_only=True):
    """A rank found that a checkpoint cannot be restored: a part is damaged or missing in all its places."""

    at_ms: int
    job: JobId
    attempt: int
    step: int
    rank: int
    problem: str
    is_replaced: bool = False
    """True when all ranks have taken an older checkpoint instead, by agreement, and go on."""
