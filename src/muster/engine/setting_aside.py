"""Nodes that operators want for something else: emptying them, and setting them aside for a while.

Jobs that have to go are told to leave as if another job needed their GPUs: they save themselves, wait in the queue
again, and it does not count as their fault.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from muster.core.order.preemptibles import lost_gpu_ms, saved_at_ms
from muster.engine.folding.state import State
from muster.model.errors import Conflict, InvalidInput, NotFound
from muster.model.events import ENGINE, Event, EvictionOrdered, ReservationRemoved, ReservationSet
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState
from muster.model.machines.reservation import RESERVATIONS, Reservation
from muster.model.plan import Why

_ACTIVE = (JobState.STARTING, JobState.RUNNING)


class SettingAside:
    """What operators do with nodes under one engine."""

    def __init__(self, state: State, *, record: Callable[[Event], bool], batch: AbstractContextManager[None]) -> None:
        self._state = state
        self._record = record
        self._batch = batch
        self._looked_ms = 0

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """All reservations that are not over, by name."""
        return self._state.snapshot.setting.reservations

    def evict(
        self, node: NodeName, now_ms: int, *, grace_ms: int | None, by: str, because: str = ""
    ) -> tuple[JobId, ...]:
        """Tell the jobs on a node to leave it, within this time or their own grace period. Returns which."""
        jobs = self._active_on((node,))
        with self._batch:
            for job in jobs:
                self._tell(job, Why.DRAIN, now_ms, grace_ms=grace_ms, by=by, because=because)
        return tuple(job.id for job in jobs)

    def reserve(self, reservation: Reservation, now_ms: int, *, by: str) -> None:
        """Set nodes aside. A reservation with its name is replaced if it has not begun."""
        known = {each.name: each for each in self.reservations}
        unknown = [str(name) for name in reservation.nodes if name not in self._state.nodes]
        if unknown:
            raise NotFound(f"there is no node {', '.join(unknown[:10])}; `muster nodes` lists them")
        if reservation.to_ms <= max(reservation.from_ms, now_ms):
            raise InvalidInput("the reservation would be over before it begins, or is over already")
        if reservation.name in known:
            raise Conflict(f"there is a reservation {reservation.name}; remove it first, or choose another name")
        if len(known) >= RESERVATIONS:
            raise Conflict(f"there are {RESERVATIONS} reservations, which is as many as there may be; remove one first")
        self._record(ReservationSet(at_ms=now_ms, reservation=reservation, by=by))

    def remove(self, name: str, now_ms: int, *, by: str, because: str = "") -> None:
        """Take a reservation back."""
        if all(each.name != name for each in self.reservations):
            raise NotFound(f"there is no reservation {name}; `muster reservation ls` lists them")
        self._record(ReservationRemoved(at_ms=now_ms, name=name, because=because, by=by))

    def in_the_way(self, reservation: Reservation) -> tuple[JobId, ...]:
        """Jobs that run on the nodes, may not use them in the window, and may run on until it begins."""
        return tuple(job.id for job in self._outsiders(reservation) if _ends_after(job, reservation.from_ms))

    def look_after(self, now_ms: int) -> None:
        """Tell outsiders to leave when a window opens, and drop reservations that are over."""
        self._looked_ms = now_ms
        for reservation in self.reservations:
            if reservation.to_ms <= now_ms:
                self._record(ReservationRemoved(at_ms=now_ms, name=reservation.name, because="it is over", by=ENGINE))
            elif reservation.from_ms <= now_ms:
                because = f"reservation {reservation.name} for {reservation.holder}"
                with self._batch:
                    for job in self._outsiders(reservation):
                        self._tell(job, Why.RESERVATION, now_ms, grace_ms=None, by=ENGINE, because=because)

    @property
    def next_ms(self) -> int | None:
        """When a window opens or is over next, after the last look."""
        moments = [at_ms for each in self.reservations for at_ms in (each.from_ms, each.to_ms)]
        return min([at_ms for at_ms in moments if at_ms > self._looked_ms], default=None)

    def _outsiders(self, reservation: Reservation) -> list[Job]:
        there = self._active_on(reservation.nodes)
        return [job for job in there if not reservation.admits(job.spec.team, job.user)]

    def _active_on(self, nodes: Iterable[NodeName]) -> list[Job]:
        """Jobs that have a worker on one of these nodes and were not told to leave."""
        snapshot, jobs = self._state.snapshot, self._state.jobs
        numbers = [snapshot.setting.tree.index_of[node] for node in nodes if node in snapshot.setting.tree.index_of]
        found = dict.fromkeys(job for number in numbers for job, _ in snapshot.uses_on(number))
        return [jobs[job] for job in sorted(found) if job in jobs and jobs[job].state in _ACTIVE]

    def _tell(self, job: Job, why: Why, now_ms: int, *, grace_ms: int | None, by: str, because: str) -> None:
        running = self._state.snapshot.running[job.id]
        lost = lost_gpu_ms(saved_at_ms(running), job.spec.gang_gpu_milli, now_ms)
        self._record(
            EvictionOrdered(
                at_ms=now_ms,
                job=job.id,
                attempt=job.attempt,
                why=why,
                for_job=JobId(""),
                by_ms=now_ms + (job.grace_ms if grace_ms is None else grace_ms),
                lost_gpu_ms=lost,
                by=by,
                because=because,
            )
        )


def _ends_after(job: Job, at_ms: int) -> bool:
    return job.ends_by_ms is None or job.ends_by_ms > at_ms
