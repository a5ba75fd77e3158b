"""One allocation: what it was asked for, how far it is, and which of its workers are known to be gone."""

from dataclasses import dataclass, field

from muster.backends.allocations.engine import AllocationId, AllocationPhase, SeenAllocation
from muster.backends.allocations.posts import post_of
from muster.model.ids import EngineName, JobId, NodeName
from muster.model.job import Cause, Placement, Worker
from muster.model.reports import StartFailed, WorkersExited
from muster.worker.launch.command_lines import CANNOT_ENTER

KILLED = 137
"""The exit code of a worker that the engine killed and nobody saw end: 128 and the number of SIGKILL."""

End = WorkersExited | StartFailed


@dataclass(slots=True, kw_only=True)
class EngineAllocation:
    """Nodes that an engine was asked for, for workers that start together."""

    id: AllocationId
    engine: EngineName
    job: JobId
    attempt: int
    workers: Placement
    engine_id: str = ""
    """The engine's own name; empty while it is not known whether the engine has taken the request."""
    runs_images: bool = False
    """True where its agents run in the image of the job already."""
    is_asked: bool = False
    """True once the engine was asked, whatever came of it."""
    phase: AllocationPhase | None = None
    """As the engine said last."""
    because: str = ""
    """What it waits for, or why it ended."""
    is_unwanted: bool = False
    """True once Muster wants it gone."""
    is_doomed: bool = False
    """True once a newer attempt of the job waits for its end. Nothing more of it is reported."""
    is_over: bool = False
    """True once nothing of it is alive, and what became of each worker was reported."""
    told: dict[int, None] = field(default_factory=dict)
    """Ranks that Muster has told to leave, or killed."""
    ends: dict[int, End] = field(default_factory=dict)
    """By rank, how it ended."""
    lost: dict[NodeName, None] = field(default_factory=dict)
    """Nodes that it has no more."""
    since_s: float = 0.0
    """When the last thing was asked that the engine has not done yet, by a monotonic clock."""

    @property
    def name(self) -> str:
        """What people see in the engine."""
        return f"muster-{self.job}-{self.attempt}"

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        """Its nodes, each once, in the order of the ranks."""
        return tuple(dict.fromkeys(worker.node for worker in self.workers))

    @property
    def posts(self) -> tuple[NodeName, ...]:
        """Its posts, in the order of its nodes."""
        return tuple(post_of(self.id, node) for node in self.nodes)

    @property
    def is_done(self) -> bool:
        """True when all of its workers are known to be gone."""
        return len(self.ends) >= len(self.workers)

    def is_settled_on(self, node: NodeName) -> bool:
        """True while it surely has what it asked for of a node: it is neither about to come nor to go."""
        is_steady = self.phase is AllocationPhase.RUNNING and not (self.is_unwanted or self.is_doomed or self.is_done)
        return is_steady and node not in self.lost

    def on(self, node: NodeName) -> Placement:
        """Its workers on a node."""
        return tuple(worker for worker in self.workers if worker.node == node)

    def devices(self, node: NodeName) -> tuple[int, ...]:
        """The GPUs of a node as Muster numbers them. The first is the first that the engine shows there, and so on."""
        return tuple(sorted({gpu for worker in self.on(node) for gpu in worker.gpus}))

    def living(self) -> Placement:
        """Workers that are not known to be gone."""
        return tuple(worker for worker in self.workers if worker.rank not in self.ends)

    def end(self, worker: Worker, *, at_ms: int, generation: int, seen: SeenAllocation | None, was_up: bool) -> End:
        """The report for a worker that is gone with the allocation, as the engine explains it."""
        cause, is_mistake = (None, False) if seen is None else (seen.cause, seen.is_mistake)
        is_told = worker.rank in self.told or self.is_unwanted
        if not was_up and not is_mistake and (is_told or cause in (None, Cause.START_FAILURE)):
            return StartFailed(
                at_ms=at_ms,
                job=self.job,
                attempt=self.attempt,
                generation=generation,
                ranks=(worker.rank,),
                message=self.because or "never started",
            )
        return WorkersExited(
            at_ms=at_ms,
            job=self.job,
            attempt=self.attempt,
            generation=generation,
            ranks=(worker.rank,),
            exit_code=CANNOT_ENTER if is_mistake else KILLED,
            told=is_told,
            problem=self.because if is_mistake else "",
            ended_for=None if is_told or is_mistake else cause or Cause.NODE_FAILURE,
            because="" if is_told else self.because,
        )
