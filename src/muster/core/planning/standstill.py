"""Whether a plan made now would change anything, found out by counting GPUs instead of making it.

On a full cluster most events and most moments change nothing: what came free is too little for every waiting job, even
together with all jobs that would have to leave for it. Only what is certain counts. Where anything else could happen
(promises stand, jobs leave, grow or move, a tier or a guarantee gives a right to preempt), a plan is made.
"""

from typing import NamedTuple

from muster.core.order.pace import has_slots
from muster.core.order.queueing import JobClass
from muster.core.order.service import NEWCOMERS
from muster.core.order.turn_candidates import TurnCandidate
from muster.core.planning.displacing.turns import first_place, takes_turns
from muster.core.planning.next_cycle import wake_at_rest_ms
from muster.core.snapshot import Snapshot


class Rest(NamedTuple):
    """A plan made now would change nothing."""

    wake_ms: int | None
    """When it says that the next plan must be made."""


def rest(snapshot: Snapshot, now_ms: int) -> Rest | None:
    """What a plan made now would come to if nothing can be decided; None when it has to be made to find out."""
    if not takes_turns(snapshot) or not snapshot.queue.class_of or _is_moving(snapshot):
        return None
    groups = snapshot.queue.classes()
    if any(group.stuck_at < 0 for group in groups):
        return None  # no plan has said yet why these jobs wait
    count = _Count(snapshot, now_ms)
    if any(count.may_move(group) for group in groups):
        return None
    return Rest(wake_at_rest_ms(snapshot, now_ms))


def _is_moving(snapshot: Snapshot) -> bool:
    """True when a plan may do more than make room in turn, start jobs and promise starts within a turn."""
    if snapshot.promises or snapshot.departing or snapshot.elastic or snapshot.paces.slow:
        return True
    # While no running job can resume, a start may be promised at any time.
    return bool(snapshot.queue.relaxing) or not snapshot.service.by_run_time


class _Count:
    """How many GPUs waiting jobs could get at most, in thousandths."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._turn_ms = snapshot.turn_ms or 0
        self._free_milli = snapshot.capacity.free_milli[0][0]
        self._ending_milli: int | None = None
        self._later_milli: dict[tuple[int, int], int | None] = {}
        """By tier and band: what jobs of later bands occupy; None if there are none."""
        self._later_on: dict[tuple[int, int], dict[int, int]] = {}
        """The same by node."""
        self._equals: dict[tuple[int, int], list[TurnCandidate]] = {}
        """By tier and band: the jobs of the band that have had their turn, youngest first."""

    def may_move(self, group: JobClass) -> bool:
        """False when no job of a class can start, make room or be promised a start."""
        snapshot, need_milli = self._snapshot, group.gpu_milli
        if snapshot.has_rights(group):
            return True
        worse_milli = self._worse_milli(group)
        if worse_milli is not None and need_milli <= self._free_milli + worse_milli and self._may_fit(group):
            return True
        if group.band == NEWCOMERS and need_milli <= self._free_milli + self._ending():
            return True
        left_milli = self._free_milli - snapshot.setting.turn_reserve_milli
        if group.band > NEWCOMERS and need_milli > left_milli:
            return False
        return any(has_slots(snapshot.capacity, group.gang, choice) for choice in group.gang.choices)

    def _worse_milli(self, group: JobClass) -> int | None:
        """What running jobs occupy that have a worse place than the first job of a class; None if there are none."""
        key = (group.tier, group.band)
        if key not in self._later_milli:
            self._count_band(group)
        worse_milli, equals = self._later_milli[key], self._equals[key]
        if not equals:
            return worse_milli
        place = first_place(self._snapshot, group, self._now_ms)
        for aged, _, _, _, gpu_milli in equals:
            if aged <= place.aged_ms:
                break
            worse_milli = (worse_milli or 0) + gpu_milli
        return worse_milli

    def _may_fit(self, group: JobClass) -> bool:
        """False when too few workers of a gang fit once all these jobs have left, counted by node."""
        parts, capacity = group.gang.parts, self._snapshot.capacity
        if len(parts) > 1:
            return True
        left_on = self._left_by_worse(group)
        for choice in group.gang.choices:
            ask = choice.asks[0]
            if not ask.gpu_milli:
                return True
            # On the nodes that they leave, what is free already is counted twice. That errs on the safe side.
            slots = sum([(capacity.free_on(node) + milli) // ask.gpu_milli for node, milli in left_on.items()])
            if slots + capacity.total_slots(ask) >= parts[0].workers:
                return True
        return False

    def _left_by_worse(self, group: JobClass) -> dict[int, int]:
        """What running jobs with a worse place occupy on each node."""
        key, place = (group.tier, group.band), first_place(self._snapshot, group, self._now_ms)
        left_on = self._later_on.get(key)
        if left_on is None:
            left_on = self._later_on[key] = {}
            tier, candidates = self._snapshot.setting.tiers[group.tier].name, self._snapshot.service.candidates
            for band in range(group.band + 1, candidates.worst_band(tier, self._now_ms) + 1):
                for each in candidates.in_band(tier, band, self._now_ms):
                    _add(left_on, each)
        younger = [each for each in self._equals[key] if each[0] > place.aged_ms]
        if younger:
            left_on = left_on.copy()
            for each in younger:
                _add(left_on, each)
        return left_on

    def _count_band(self, group: JobClass) -> None:
        """Count running jobs of later bands, and list those of the band that have had their turn, youngest first."""
        tier, candidates = self._snapshot.setting.tiers[group.tier].name, self._snapshot.service.candidates
        key, now_ms, later_milli = (group.tier, group.band), self._now_ms, list[int]()
        for band in range(group.band + 1, candidates.worst_band(tier, now_ms) + 1):
            if candidates.in_band(tier, band, now_ms):
                later_milli.append(candidates.gpu_milli(tier, band, now_ms))
        self._later_milli[key] = sum(later_milli) if later_milli else None
        in_band = candidates.in_band(tier, group.band, now_ms)
        self._equals[key] = [each for each in reversed(in_band) if each[1] <= now_ms - self._turn_ms]

    def _ending(self) -> int:
        """What running jobs occupy that are gone within a turn at the latest. No start is promised later than that."""
        if self._ending_milli is None:
            self._ending_milli = 0
            for end_ms, job_id in self._snapshot.timetable.ends:
                if end_ms >= self._now_ms + self._turn_ms:
                    break
                self._ending_milli += sum(milli for _, milli in self._snapshot.demands[job_id])
        return self._ending_milli


def _add(left_on: dict[int, int], candidate: TurnCandidate) -> None:
    for use in candidate[3]:
        left_on[use.node] = left_on.get(use.node, 0) + use.gpu_milli
