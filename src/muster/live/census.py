"""How many run and wait, by tier and team: counted once for everybody who asks about the same version."""

from collections import Counter
from dataclasses import dataclass, field

from muster.engine.projection import is_leaver
from muster.engine.state import State
from muster.model.ids import GpuType, NodeName, TeamPath, TierName
from muster.model.job import Job, RunningJob
from muster.model.node import NodeState
from muster.model.team import ancestors


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """Everybody who runs or waits, at one version."""

    version: int
    running: Counter[tuple[TierName, TeamPath]] = field(default_factory=Counter)
    waiting: Counter[tuple[TierName, TeamPath]] = field(default_factory=Counter)
    oldest_ms: dict[TierName, int] = field(default_factory=dict)
    """When the job was submitted that waits for longest in each tier."""
    gpus: Counter[GpuType] = field(default_factory=Counter)
    gpus_used_milli: Counter[GpuType] = field(default_factory=Counter)
    nodes: Counter[NodeState] = field(default_factory=Counter)
    team_running: Counter[TeamPath] = field(default_factory=Counter)
    """With the teams below each."""
    team_waiting: Counter[TeamPath] = field(default_factory=Counter)
    partial_gangs: int = 0
    """Gangs that are being stopped, of which some workers have exited and others have not."""
    quarantined: int = 0
    """Gangs that run on a node and are not known."""


class Counting:
    """Takes the census anew when something has changed."""

    def __init__(self) -> None:
        self._taken: tuple[State, Census] | None = None

    def census(self, state: State) -> Census:
        """Everybody, as of now."""
        if self._taken is None or self._taken[0] is not state or self._taken[1].version != state.version:
            self._taken = (state, _taken(state))
        return self._taken[1]


def _taken(state: State) -> Census:
    census = Census(
        version=state.version,
        partial_gangs=sum(_is_partial(state.jobs[job]) for job in list(state.occupying)),
        quarantined=sum(len(gangs) for gangs in list(state.quarantine.gangs.values())),
    )
    types: dict[NodeName, GpuType] = {}
    for node in list(state.nodes.values()):
        types[node.name] = node.gpu_type
        census.nodes[node.state] += 1
        if node.gpus:
            census.gpus[node.gpu_type] += node.gpus
    for running in list(state.snapshot.running.values()):
        _count_gpus(census, running, types)
        if not is_leaver(running.id):
            census.running[running.spec.tier, running.spec.team] += 1
    for waiting in list(state.snapshot.queue.jobs.values()):
        tier = waiting.spec.tier
        census.waiting[tier, waiting.spec.team] += 1
        census.oldest_ms[tier] = min(census.oldest_ms.get(tier, waiting.submitted_ms), waiting.submitted_ms)
    _sum_up(census.running, census.team_running)
    _sum_up(census.waiting, census.team_waiting)
    return census


def _is_partial(job: Job) -> bool:
    return job.deadline_ms is not None and bool(job.exited_ranks)


def _count_gpus(census: Census, job: RunningJob, types: dict[NodeName, GpuType]) -> None:
    for worker in job.workers:
        if worker.gpu_milli:
            census.gpus_used_milli[types.get(worker.node, GpuType(""))] += worker.gpu_milli


def _sum_up(counts: Counter[tuple[TierName, TeamPath]], by_team: Counter[TeamPath]) -> None:
    for (_, team), count in counts.items():
        for each in ancestors(team):
            by_team[each] += count
