"""How much of each limited team's quota will still be in use at a later time, by the time limits of running jobs.

Promises need it: a job that starts on time finds its GPUs free *and* its team below its limit.
"""

from collections.abc import Iterable

from muster.core.cluster.gang import Demand
from muster.core.order.quota import Ledger, LimitShare
from muster.core.order.timetable import Timetable
from muster.model.ids import GpuType, JobId, TeamPath

Room = dict[tuple[TeamPath, GpuType], int]
"""What may still be added under each limit, in GPU thousandths."""


class QuotaForecast:
    """Usage of limited teams over time, as the plan adds starts and promises to what running jobs use."""

    def __init__(
        self, ledger: Ledger, timetable: Timetable, overdue: Iterable[tuple[int, tuple[LimitShare, ...]]]
    ) -> None:
        """`overdue` are late jobs, each with when it may be gone and what it uses. The timetable has them as gone."""
        self._ledger = ledger
        self._timetable = timetable
        self._added: dict[tuple[TeamPath, GpuType], list[tuple[int, int]]] = {}
        for end_ms, shares in overdue:
            self._count(end_ms, shares)
        self._promised: dict[tuple[TeamPath, GpuType], dict[JobId, tuple[int, int, int]]] = {}
        self._rooms: dict[tuple[TeamPath, int], Room] = {}
        """Answers since the last change: a promise is checked and then renewed, which asks the same twice."""

    def add(self, end_ms: int, team: TeamPath, demand: Demand) -> None:
        """Count a job that starts now and ends at `end_ms`."""
        self._rooms.clear()
        self._count(end_ms, self._ledger.under_limits(team, demand))

    def _count(self, end_ms: int, shares: tuple[LimitShare, ...]) -> None:
        for key, milli in shares:
            self._added.setdefault(key, []).append((end_ms, milli))

    def promise(self, job_id: JobId, team: TeamPath, demand: Demand, start_ms: int, end_ms: int) -> None:
        """Count a job that will start at `start_ms` and end at `end_ms`."""
        self._rooms.clear()
        for key, milli in self._ledger.under_limits(team, demand):
            self._promised.setdefault(key, {})[job_id] = (start_ms, end_ms, milli)

    def retract(self, job_id: JobId) -> None:
        """A promise does not stand any more."""
        self._rooms.clear()
        for spans in self._promised.values():
            spans.pop(job_id, None)

    def room(self, team: TeamPath, at_ms: int) -> Room:
        """What the limits above a team leave at a later time."""
        known = self._rooms.get((team, at_ms))
        if known is not None:
            return known
        room: Room = {}
        for path, gpu_type, limit_milli in self._ledger.limits(team):
            used = self._still_used(path, gpu_type, at_ms)
            for start_ms, end_ms, milli in self._promised.get((path, gpu_type), {}).values():
                if start_ms <= at_ms < end_ms:
                    used += milli
            room[(path, gpu_type)] = limit_milli - used
        self._rooms[(team, at_ms)] = room
        return room

    def _still_used(self, path: TeamPath, gpu_type: GpuType, at_ms: int) -> int:
        added = sum(milli for end_ms, milli in self._added.get((path, gpu_type), ()) if end_ms > at_ms)
        return added + self._timetable.still_used_milli(path, gpu_type, at_ms)


def fits_into(room: Room, chain: tuple[TeamPath, ...], demand: Demand) -> bool:
    """True when a demand stays within what is left under every limit."""
    return all(milli <= room.get((team, gpu_type), milli) for team in chain for gpu_type, milli in demand)


class PromisedQuota:
    """What is left under each limit at every promised start, looked up by limit: most jobs touch only two or three."""

    def __init__(self) -> None:
        self._rooms: dict[tuple[TeamPath, GpuType], dict[JobId, list[int]]] = {}

    def promise(self, job_id: JobId, start_ms: int, room: Room) -> None:
        """Record a promised start; `room` is what it leaves."""
        for key, milli in room.items():
            self._rooms.setdefault(key, {})[job_id] = [start_ms, milli]

    def retract(self, job_id: JobId) -> None:
        """A promise does not stand any more."""
        for promises in self._rooms.values():
            promises.pop(job_id, None)

    def broken_by(self, chain: tuple[TeamPath, ...], demand: Demand, start_ms: int, end_ms: int) -> JobId | None:
        """The promise that using this much for this long would break, if any."""
        for team in chain:
            for gpu_type, milli in demand:
                for job_id, (at_ms, left_milli) in self._rooms.get((team, gpu_type), {}).items():
                    if milli > left_milli and start_ms <= at_ms < end_ms:
                        return job_id
        return None

    def use(self, chain: tuple[TeamPath, ...], demand: Demand, start_ms: int, end_ms: int, sign: int = 1) -> None:
        """Count a use of this much for this long; sign -1 takes it back."""
        for team in chain:
            for gpu_type, milli in demand:
                for promise in self._rooms.get((team, gpu_type), {}).values():
                    if start_ms <= promise[0] < end_ms:
                        promise[1] -= sign * milli
