"""What a replay leaves behind: facts about every job and about the cluster over time, from which all figures come."""

from muster.model.ids import GpuType, NodeName
from muster.model.job import JobState
from muster.model.records import Record
from muster.model.trace import TraceJob

GpusByType = tuple[tuple[GpuType, int], ...]
"""How many GPUs of each type a cluster has."""


class Stint(Record, frozen=True, kw_only=True):
    """One stretch of time in which a job occupied its GPUs without interruption."""

    start_ms: int
    end_ms: int
    gpu_milli: int
    nodes: tuple[NodeName, ...]
    """One for each worker."""


class JobOutcome(Record, frozen=True, kw_only=True):
    """What became of one job."""

    job: TraceJob
    state: JobState
    """As it was when the replay ended: final, unless the replay was cut off."""
    first_start_ms: int | None
    end_ms: int | None
    preemptions: int = 0
    faults: int = 0
    """Attempts that a node, a GPU or the job itself brought to an end."""
    useful_gpu_ms: int = 0
    """GPU time whose work counted in the end."""
    lost_gpu_ms: int = 0
    """GPU time spent on restarts, on work that had to be done again, and on all work of jobs that never succeeded."""
    saving_gpu_ms: int = 0
    """GPU time in which training stood still to save."""
    slowed_gpu_ms: int = 0
    """GPU time that stragglers took: of an hour at a third of the speed, forty minutes."""
    stints: tuple[Stint, ...] = ()

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
        """Submission to end without the time in which it had its GPUs."""
        if self.end_ms is None:
            return None
        return self.end_ms - self.job.submit_ms - sum(stint.end_ms - stint.start_ms for stint in self.stints)


class Sample(Record, frozen=True, kw_only=True):
    """The cluster between this moment and the next sample."""

    at_ms: int
    used_milli: int
    usable_milli: int
    """GPUs of nodes that work."""
    waiting_jobs: int
    waiting_milli: int
    """GPUs that they ask for."""
    fragmentation: float
    """Share of the free GPUs that a job drawn at random from the waiting and running ones could not use."""


class Replay(Record, frozen=True, kw_only=True):
    """One trace under one policy."""

    policy: str
    trace: str
    capacity_milli: int
    """GPUs of the whole cluster."""
    outcomes: tuple[JobOutcome, ...]
    """In the order of the trace."""
    samples: tuple[Sample, ...]
    """In the order of time, one for each change, thinned out to a bounded number."""
    cycles: int
    cpu_s: float
    log_hash: str
    gpus_by_type: GpusByType = ()
    """GPUs of the whole cluster, of each type."""
    rejections: tuple[str, ...] = ()
    """Why jobs were never let in, each reason once, the most frequent first."""
    dropped_plans: int = 0
    """Plans that were not sound and of which nothing was done."""
    first_drop: str = ""
    """What was wrong with the first of them."""
