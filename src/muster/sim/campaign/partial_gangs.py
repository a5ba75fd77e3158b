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
        self._since_ms: dict[tuple[JobId, int], int | None] = {}
        """For attempts whose gangs are partial now, since when it is seen that all their remaining processes can be
        reached. A control plane that stands still sees nothing, and then perhaps another attempt."""

    def problems(self, state: State, tested: TestedBackend, *, is_cut: bool) -> Iterator[str]:
        """Gangs that were partial for longer than it takes to end them."""
        alive: dict[JobId, list[LiveProcess]] = {}
        for seat in tested.seats():
            alive.setdefault(seat.job, []).append(seat)
        partial = {
            (name, job.attempt): seats
            for name, seats in alive.items()
            if (job := state.jobs.get(name)) is not None and _is_partial(job, seats)
        }
        self.count += sum(key not in self._since_ms for key in partial)
        before, self._since_ms = self._since_ms, {}
        for key, seats in partial.items():
            is_within_reach = not is_cut and all(tested.is_attended(seat.worker.node) for seat in seats)
            known_ms = before.get(key)
            since_ms = tested.now_ms if known_ms is None else known_ms
            self._since_ms[key] = since_ms if is_within_reach else None
            lasted_ms = tested.now_ms - since_ms if is_within_reach else 0
            self.longest_ms = max(self.longest_ms, lasted_ms)
            if lasted_ms > _bound_ms(state.jobs[key[0]]):
                yield f"{key[0]}: a part of its gang is gone, and the rest is alive {lasted_ms} ms later"


def _is_partial(job: Job, seats: list[LiveProcess]) -> bool:
    return job.state in LEAVING and len(seats) < len(occupied(job))


def _bound_ms(job: Job) -> int:
    """The grace period, a kill that got lost and is sent again, and the margins of supervisors."""
    return job.grace_ms + KILL_REPEAT_MS + 2 * ABSENCE_MARGIN_MS
