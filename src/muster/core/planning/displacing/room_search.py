"""Room for one gang in the place of running jobs: the worst leave first, and no more of them than needed."""

from bisect import bisect_left
from collections.abc import Sequence

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.gang import Choice, Gang
from muster.core.planning.displacing.proposals import Proposal, gone_ms
from muster.core.planning.displacing.victims import Victim, victim_of
from muster.core.planning.draft import PlanDraft
from muster.core.planning.placing.placement import Seating, fits, place
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.plan import Why


class RoomSearch:
    """Finds the jobs that must leave so that one gang fits. Leaves the capacity as it was.

    Searches differ in the order in which jobs leave until the gang fits. Then the jobs that it does not need after all
    stay, in an order that each search chooses too. So no victim is superfluous.
    """

    def __init__(self, draft: PlanDraft, capacity: Capacity, job: WaitingJob, gang: Gang, choice: Choice) -> None:
        self._draft = draft
        self._capacity = capacity
        self._job = job
        self._gang = gang
        self._choice = choice
        self._widest = draft.widest(gang, job)

    def without_victims(self) -> Proposal | None:
        """Room in what is free once all jobs have gone that leave anyway."""
        return self._without_superfluous((), ()) if self._fits() else None

    def worst_first(self, jobs: Sequence[JobId]) -> Proposal | None:
        """Room in the place of the first of these running jobs. Of those that leave, the last may stay first."""
        told = self._fewest(jobs)
        if told is None:
            return None
        capacity, snapshot = self._capacity, self._draft.snapshot
        mark = capacity.mark()
        self._leave(jobs[:told])
        seating = self._place()
        capacity.rollback(mark)
        if seating is None:
            return None
        nodes = {use.node: None for use in seating.footprint}
        near = [job for job in jobs[:told] if any(use.node in nodes for use in snapshot.footprints[job])]
        victims = [victim_of(self._draft, snapshot.running[job], Why.TURN) for job in near]
        self._leave(near)
        proposal = self._without_superfluous(victims, victims[::-1])
        capacity.rollback(mark)
        return proposal

    def _fewest(self, jobs: Sequence[JobId]) -> int | None:
        """How many of the first jobs must leave so that the gang fits; None when all are not enough."""
        fewest = self._fewest_by_count(jobs)
        if fewest is None or self._is_enough(jobs[:fewest]):
            return fewest
        if not self._is_enough(jobs):
            return None
        counts = range(len(jobs) + 1)
        return bisect_left(counts, True, fewest + 1, key=lambda count: self._is_enough(jobs[:count]))

    def _is_enough(self, leaving: Sequence[JobId]) -> bool:
        mark = self._capacity.mark()
        self._leave(leaving)
        is_enough = self._fits()
        self._capacity.rollback(mark)
        return is_enough

    def _leave(self, leaving: Sequence[JobId]) -> None:
        for job_id in leaving:
            self._capacity.give(self._draft.snapshot.footprints[job_id])

    def _fewest_by_count(self, jobs: Sequence[JobId]) -> int | None:
        """A cheap lower bound on how many of the first jobs must leave: it counts only GPUs by node."""
        footprints = self._draft.snapshot.footprints
        capacity, parts, asks = self._capacity, self._gang.parts, self._choice.asks
        needed = sum(part.workers * ask.gpu_milli for part, ask in zip(parts, asks, strict=True))
        unit = max(asks[0].gpu_milli, 1) if len(parts) == 1 else 1
        room = [capacity.free_on(node) if suits else -1 for node, suits in enumerate(capacity.suits(asks))]
        missing = needed // unit - sum(free // unit for free in room if free > 0)
        for count, job_id in enumerate(jobs):
            if missing <= 0:
                return count
            for use in footprints[job_id]:
                free = room[use.node]
                if free >= 0:
                    room[use.node] = after = free + use.gpu_milli
                    missing -= after // unit - free // unit
        return len(jobs) if missing <= 0 else None

    def _without_superfluous(self, victims: Sequence[Victim], in_order: Sequence[Victim]) -> Proposal | None:
        """The gang in the place of these victims, which have left. Those that it does not need come back, in order."""
        stay: list[Victim] = []
        for victim in in_order:
            self._capacity.take(victim.footprint)
            if self._fits():
                stay.append(victim)
            else:
                self._capacity.give(victim.footprint)
        seating = self._place()
        if seating is None:
            return None
        needed = tuple([victim for victim in victims if not any(victim is other for other in stay)])
        start_ms = gone_ms(self._draft, needed, seating.footprint)
        return Proposal(self._job, self._choice, seating, needed, start_ms)

    def _fits(self) -> bool:
        return fits(self._capacity, self._gang, self._choice, self._widest)

    def _place(self) -> Seating | None:
        return place(self._capacity, self._gang, self._choice, self._widest)
