"""What a scenario file may hold, key by key. Parts that are checked one by one stay plain values here."""

from typing import Annotated, Any

from pydantic import Field

from muster.formats.jobs.job_wire import GivenJob
from muster.formats.parts.kinds import Id, Name, PositiveDuration, PositiveThousandths, Text, Thousandths, Time
from muster.formats.parts.wire import Wire
from muster.model.limits import GANG_WORKERS, GPUS_PER_NODE, JOBS_PER_SCENARIO
from muster.model.plan import Basis

Rank = Annotated[int, Field(ge=0, lt=GANG_WORKERS)]
Tally = Annotated[int, Field(ge=0, le=1_000_000)]


class WorkerWire(Wire):
    """One worker and where it is."""

    rank: Rank | None = None
    role: Text | None = None
    node: Name
    gpus: list[int] = Field(default_factory=list, max_length=GPUS_PER_NODE)
    share: PositiveThousandths | None = None


class RunningWire(Wire):
    """A job that occupies GPUs."""

    id: Id
    job: GivenJob
    started: Time
    checkpointed: Time | None = None
    leaving_by: Time | None = None
    submitted: Time | None = None
    workers: list[WorkerWire] = Field(max_length=GANG_WORKERS)
    user: Text = ""


class WaitingWire(Wire):
    """A job that wants to start."""

    id: Id
    job: GivenJob
    submitted: Time | None = None
    requeued: bool = False
    held: bool = False
    unmet: list[Id] | None = None
    """The jobs it still depends on; where it is left out, all of its `depends_on` that the file does not say ended."""
    attained_gpu_s: Thousandths = 0
    predicted: PositiveDuration | None = None
    user: Text = ""


class PromiseWire(Wire):
    """A promise of an earlier cycle, in the shape of the answer of `muster plan`."""

    job: Id
    start: Time
    made: Time | None = None
    workers: list[WorkerWire] = Field(min_length=1, max_length=GANG_WORKERS)
    nodes: list[Name] = Field(default_factory=list)
    basis: Annotated[Basis, Field(strict=False)] = Basis.LIMITS
    moved_because: Text = ""


class ScenarioWire(Wire):
    """A whole scenario file as it is written."""

    now: Time
    cluster: Any
    pools: Any = None
    teams: Any = None
    tiers: Any = None
    policy: Any = None
    usage: dict[str, Thousandths] = Field(default_factory=dict)
    recent_preemptions: dict[str, Tally] = Field(default_factory=dict)
    running: list[Any] = Field(default_factory=list, max_length=JOBS_PER_SCENARIO)
    waiting: list[Any] = Field(default_factory=list, max_length=JOBS_PER_SCENARIO)
    holds: list[Any] = Field(default_factory=list)
    reservations: list[Any] = Field(default_factory=list)
