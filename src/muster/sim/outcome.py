"""The result of a replay: facts about every job and about the cluster over time. All figures come from them."""

from muster.model.ids import NodeName
from muster.model.job import JobState
from muster.model.records import Record
from muster.model.trace import TraceJob
from muster.sim.overload import Overload
from muster.sim.speeds import GpusByType


class Stint(Record, frozen=True, kw_only=True):
    """One period in which a job occupied its GPUs without interruption."""

    start_ms: int
    end_ms: int
    gpu_milli: int
    nodes: tuple[NodeName, ...]
    """One for each worker."""


class JobOutcome(Record, frozen=True, kw_only=True):
    """What happened to one job."""

    job: TraceJob
    state: JobState
    """The state when the replay ended. It is final, unless the replay ended before the job."""
    first_start_ms: int | None
    end_ms: int | None
    preemptions: int = 0
    faults: int = 0
    """Attempts that ended because of a node, a GPU or a crash of the job."""
    useful_gpu_ms: int = 0
    """GPU time of work that counted in the end."""
    lost_gpu_ms: int = 0
    """GPU time spent on restarts, on work that had to be done again, and on all work of jobs that never succeeded."""
    saving_gpu_ms: int = 0
    """GPU time in which training stood still for saves."""
    slowed_gpu_ms: int = 0
    """GPU time lost to stragglers: an hour at a third of the speed loses forty minutes."""
    stints: tuple[Stint, ...] = ()
    overload_ms: int = 0
    """How long lasting overload would have made it wait if all jobs were served in the order of submission."""

    @property
    def completion_ms(self) -> int | None:
        """Submission to end."""
        return None if self.end_ms is None else self.end_ms - self.job.submit_ms

    @property
    def first_wait_ms(self) -> int | None:
        """Submission to first start."""
        return None if self.first_start_ms is None else self.first_start_ms - self.job.submit_ms

    @property
    def total_wait_ms(self) -> int | None:
        """Submission to end, without the time in which the job had its GPUs."""
        if self.end_ms is None:
            return None
        return self.end_ms - self.job.submit_ms - sum(stint.end_ms - stint.start_ms for stint in self.stints)


class Sample(Record, frozen=True, kw_only=True):
    """The cluster from this moment to the next sample."""

    at_ms: int
    used_milli: int
    usable_milli: int
    """GPUs that work, on nodes that take work."""
    waiting_jobs: int
    waiting_milli: int
    """GPUs that the waiting jobs ask for."""
    fragmentation: float
    """Expected share of the free GPUs that a worker drawn at random from all jobs of the replay could not use."""


class Replay(Record, frozen=True, kw_only=True):
    """One trace under one policy."""

    policy: str
    trace: str
    capacity_milli: int
    """GPUs of the whole cluster."""
    outcomes: tuple[JobOutcome, ...]
    """In the order of the trace, without jobs that ask for nothing."""
    samples: tuple[Sample, ...]
    """In the order of time, one for each change. If there are too many, every n-th is kept."""
    cycles: int
    cpu_s: float
    log_hash: str
    gpus_by_type: GpusByType = ()
    """GPUs of the whole cluster, of each type."""
    rejections: tuple[str, ...] = ()
    """Why jobs were rejected. Each reason appears once, the most frequent first."""
    dropped_plans: int = 0
    """Plans that were invalid and of which nothing was carried out."""
    first_drop: str = ""
    """What was wrong with the first dropped plan."""
    overloads: tuple[Overload, ...] = ()
    """The quotas and the parts of the cluster that were overloaded for days, whatever the policy."""
    without_resources: int = 0
    """Jobs of the trace that ask for nothing. They run at once, whatever the policy, and have no outcome."""
