"""How many jobs run and wait, by tier and team. They are counted once for all readers of the same version."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.core.lifecycle import occupied
from muster.core.lifecycle.waiting import awaits_gpus
from muster.model.ids import GpuType, NodeName, TeamPath, TierName
from muster.model.job import Job
from muster.model.node import Node, NodeState
from muster.model.resources import GPU_MILLI
from muster.model.team import ANY_TYPE, ancestors
from muster.views.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Counts of running and waiting jobs, GPUs and nodes at one version."""

    version: int
    running: Counter[tuple[TierName, TeamPath]] = field(default_factory=Counter)
    waiting: Counter[tuple[TierName, TeamPath]] = field(default_factory=Counter)
    oldest_ms: dict[TierName, int] = field(default_factory=dict)
    """The earliest submission of all waiting jobs in each tier."""
    gpus: Counter[GpuType] = field(default_factory=Counter)
    gpus_used_milli: Counter[GpuType] = field(default_factory=Counter)
    gpus_free_milli: Counter[GpuType] = field(default_factory=Counter)
    """GPU thousandths on which work could start: in service and not in use. `ANY_TYPE` is the sum over all types."""
    nodes: Counter[NodeState] = field(default_factory=Counter)
    bad_gpus: int = 0
    """Single devices that are out of service on nodes that are ready."""
    team_running: Counter[TeamPath] = field(default_factory=Counter)
    """Including the teams below each."""
    team_waiting: Counter[TeamPath] = field(default_factory=Counter)
    team_gpus_milli: Counter[tuple[TeamPath, GpuType]] = field(default_factory=Counter)
    """GPU thousandths that each team, including the teams below it, uses of each type and of all types together."""
    partial_gangs: int = 0
    """Gangs that are being stopped and have some workers that exited and some that have not."""
    quarantined: int = 0
    """Gangs that run on a node and that the log does not know."""


class Counting:
    """Counts anew when something has changed."""

    def __init__(self) -> None:
        self._taken: JobCounts | None = None

    def job_counts(self, view: View) -> JobCounts:
        """The counts of this view."""
        if self._taken is None or self._taken.version != view.version:
            self._taken = _taken(view)
        return self._taken


def _taken(view: View) -> JobCounts:
    running = tuple(view.running.values())
    job_counts = JobCounts(
        version=view.version,
        partial_gangs=sum(map(_is_partial, running)),
        bad_gpus=sum(len(node.bad_gpus) for node in view.nodes.values() if node.state is NodeState.READY),
        quarantined=sum(len(gangs) for gangs in view.quarantine.values()),
    )
    for node in view.nodes.values():
        job_counts.nodes[node.state] += 1
        if node.gpus:
            job_counts.gpus[node.gpu_type] += node.gpus
    taken: Counter[NodeName] = Counter()
    for job in running:
        _count_gpus(job_counts, job, view.nodes, taken)
        job_counts.running[job.spec.tier, job.spec.team] += 1
    for job in view.jobs.values():
        if awaits_gpus(job):
            tier = job.spec.tier
            job_counts.waiting[tier, job.spec.team] += 1
            job_counts.oldest_ms[tier] = min(job_counts.oldest_ms.get(tier, job.submitted_ms), job.submitted_ms)
    _count_free(job_counts, view.nodes, taken)
    _sum_up(job_counts.running, job_counts.team_running)
    _sum_up(job_counts.waiting, job_counts.team_waiting)
    return job_counts


def _is_partial(job: Job) -> bool:
    return job.deadline_ms is not None and bool(job.exited_ranks)


def _count_gpus(job_counts: JobCounts, job: Job, nodes: Mapping[NodeName, Node], taken: Counter[NodeName]) -> None:
    """Count the GPUs of a job, and add them to what is taken on each node."""
    for worker in occupied(job):
        node, milli = nodes.get(worker.node), worker.gpu_milli
        gpu_type = GpuType("") if node is None else node.gpu_type
        if milli:
            taken[worker.node] += milli
            job_counts.gpus_used_milli[gpu_type] += milli
            for team in ancestors(job.spec.team):
                job_counts.team_gpus_milli[team, gpu_type] += milli
                job_counts.team_gpus_milli[team, ANY_TYPE] += milli


def _count_free(job_counts: JobCounts, nodes: Mapping[NodeName, Node], taken: Counter[NodeName]) -> None:
    for node in nodes.values():
        if node.gpus and node.state.takes_work:
            free = max(0, (node.gpus - len(node.bad_gpus)) * GPU_MILLI - taken[node.name])
            job_counts.gpus_free_milli[node.gpu_type] += free
            job_counts.gpus_free_milli[ANY_TYPE] += free


def _sum_up(counts: Counter[tuple[TierName, TeamPath]], by_team: Counter[TeamPath]) -> None:
    for (_, team), count in counts.items():
        for each in ancestors(team):
            by_team[each] += count
