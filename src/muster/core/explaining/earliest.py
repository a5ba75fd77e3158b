"""When a job can start at the earliest, whatever happens to the jobs that run: its own `begin`, and reservations."""

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.gang import Gang, gang_of
from muster.core.cluster.tree import Tree
from muster.core.planning.placing.placement import fits
from muster.core.snapshot import Snapshot
from muster.core.spares import opened
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.node import ClusterSpec, NodeState
from muster.model.records import evolve
from muster.model.scenario import Scenario


class EarliestStarts:
    """Answers for the gangs of one situation. An answer is a bound: the job may start later, but never before."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._setting = snapshot.setting
        self._idle: Capacity | None = None

    def start_ms(self, gang: Gang, limit_ms: int, from_ms: int) -> int:
        """The first moment from `from_ms` on at which the gang would fit if nothing ran, and all nodes were in order.

        Reservations that shut it out before its limit are all that can be in its way. A moment at which none does is
        `from_ms`, or the end of a reservation.
        """
        windows = [each for each in self._setting.windows if each.reservation.to_ms > from_ms]
        for at_ms in (from_ms, *sorted({each.reservation.to_ms for each in windows})):
            met = [each for each in windows if each.reservation.meets(at_ms, at_ms + limit_ms)]
            if not met:
                return at_ms
            left = self._empty().fork()
            for window in met:
                left.take(window.footprint)
            if any(fits(left, gang, choice, gang.widest) for choice in gang.choices):
                return at_ms
        return from_ms

    def _empty(self) -> Capacity:
        if self._idle is None:
            cluster = self._snapshot.cluster
            nodes = tuple(evolve(opened(node), state=NodeState.READY, bad_gpus=()) for node in self._setting.tree.nodes)
            tree = Tree(ClusterSpec(levels=cluster.levels, nodes=nodes, nvlink_level=cluster.nvlink_level))
            self._idle = Capacity.of(tree, FreeStates(), self._setting.pools)
        return self._idle


def earliest_starts(scenario: Scenario, jobs: tuple[JobId, ...]) -> dict[JobId, int]:
    """When these waiting jobs can start at the earliest; not before now."""
    asked = dict.fromkeys(jobs, scenario.now_ms)
    waiting = [job for job in scenario.waiting if job.id in asked]
    begins_ms = asked | {job.id: _begins_ms(job, scenario.now_ms) for job in waiting}
    if not scenario.reservations:
        return begins_ms
    snapshot = Snapshot.of(evolve(scenario, running=(), waiting=(), promises=()))
    earliest, setting = EarliestStarts(snapshot), snapshot.setting
    return begins_ms | {
        job.id: earliest.start_ms(
            gang_of(job.spec, setting, user=job.user), setting.limit_ms(job.spec), begins_ms[job.id]
        )
        for job in waiting
    }


def _begins_ms(job: WaitingJob, now_ms: int) -> int:
    return max(job.spec.begin.begins_ms(job.submitted_ms), now_ms) if job.early else now_ms
