"""Gangs as a search among jobs that leave sees them: reservations that they are gone before do not keep them away.

What comes free is one capacity for gangs of all lengths, with every coming reservation in it. A gang that is done when
a reservation opens, even if it has to wait for the slowest job to leave, does not refuse the nodes of that reservation.
"""

from typing import NamedTuple

from muster.core.cluster.gang import Gang, with_tenancy
from muster.core.order.queueing import JobClass
from muster.core.planning.draft import PlanDraft


class TimelyGang(NamedTuple):
    """A gang, and a number that is equal for equal gangs."""

    number: int
    gang: Gang


class TimelyGangs:
    """The gangs of all classes in one cycle."""

    def __init__(self, draft: PlanDraft) -> None:
        self._draft = draft
        self._coming = [
            (window.reservation.from_ms, window.kind)
            for window in draft.setting.windows
            if window.reservation.from_ms > draft.now_ms
        ]
        self._last_start_ms: int | None = None
        self._known: dict[tuple[int, int], TimelyGang] = {}
        """By the number of the gang and the reservations that it is gone before."""

    def of(self, group: JobClass) -> TimelyGang:
        """The gang of a class."""
        kinds = self._gone_before(group.limit_ms) if self._coming and group.gang.choices else 0
        if not kinds:
            return TimelyGang(group.gang_number, group.gang)
        known = self._known.get((group.gang_number, kinds))
        if known is None:
            tenancy = self._draft.setting.admitted_too(group.gang.choices[0].asks[0].tenancy, kinds)
            # The numbers of the queue's own gangs are not negative.
            known = TimelyGang(-1 - len(self._known), with_tenancy(group.gang, tenancy))
            self._known[(group.gang_number, kinds)] = known
        return known

    def _gone_before(self, limit_ms: int) -> int:
        """The mask of the coming reservations that open after a gang of this length is gone."""
        if self._last_start_ms is None:
            self._last_start_ms = _last_start_ms(self._draft)
        gone_ms, kinds = self._last_start_ms + limit_ms, 0
        for from_ms, kind in self._coming:
            if from_ms >= gone_ms:
                kinds |= kind
        return kinds


def _last_start_ms(draft: PlanDraft) -> int:
    """By when all jobs are gone that were told to leave, or could be told now: no gang waits longer for them."""
    times = [draft.now_ms]
    for job in draft.snapshot.running.values():
        is_told = job.leaving_by_ms is not None
        times.append(draft.end_ms(job) if is_told else draft.now_ms + draft.setting.grace_ms(job.spec))
    return max(times)
