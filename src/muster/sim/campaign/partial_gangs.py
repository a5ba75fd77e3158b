"""Gangs of which some processes are gone and others alive, after a cancel or the death of a supervisor.

They hold GPUs and do nothing. The engine can do nothing about it while a node cannot be reached. Once all nodes can be
reached, the gang must be gone after a grace period and the kill that follows.
"""

from collections.abc import Iterator

from muster.core.lifecycle import occupied
from muster.engine.folding.state import State
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.limits import KILL_REPEAT_MS
from muster.model.node_limits import ABSENCE_MARGIN_MS
from muster.sim.campaign.backends import LiveProcess, TestedBackend

LEAVING = (JobState.CHECKPOINTING, JobState.STOPPING)


class PartialGangs:
    """Counts partial gangs, and finds those that last too long."""

    def __init__(self) -> None:
        self.count = 0
        self.longest_ms = 0
        """The longest time that a gang was partial while all its remaining processes could be reached."""
        self._since_ms: dict[JobId, int] = {}
        """For gangs that are partial now, since when all their remaining processes can be reached."""

    def problems(self, state: State, tested: TestedBackend, *, is_cut: bool) -> Iterator[str]:
        """Gangs that were partial for longer than it takes to end them."""
        alive: dict[JobId, list[LiveProcess]] = {}
        for seat in tested.seats():
            alive.setdefault(seat.job, []).append(seat)
        partial = {name: seats for name, seats in alive.items() if _is_partial(state.jobs.get(name), seats)}
        for name in [name for name in self._since_ms if name not in partial]:
            del self._since_ms[name]
        for name, seats in partial.items():
            self.count += name not in self._since_ms
            is_within_reach = not is_cut and all(tested.is_attended(seat.worker.node) for seat in seats)
            since_ms = self._since_ms.setdefault(name, tested.now_ms) if is_within_reach else tested.now_ms
            self._since_ms[name] = since_ms
            lasted_ms = tested.now_ms - since_ms
            self.longest_ms = max(self.longest_ms, lasted_ms)
            if lasted_ms > _bound_ms(state.jobs[name]):
                yield f"{name}: a part of its gang is gone, and the rest is alive {lasted_ms} ms later"


def _is_partial(job: Job | None, seats: list[LiveProcess]) -> bool:
    return job is not None and job.state in LEAVING and len(seats) < len(occupied(job))


def _bound_ms(job: Job) -> int:
    """The grace period, a kill that got lost and is sent again, and the margins of supervisors."""
    return job.grace_ms + KILL_REPEAT_MS + 2 * ABSENCE_MARGIN_MS
