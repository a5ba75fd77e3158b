"""Exits that the engine may have caused: they are kept until it has said whether it ends the allocation.

Where somebody cancels an allocation behind Muster's back, its workers crash first, and the engine says why afterwards.
Told in this order, the crash would count as the job's own failure.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.engine import AllocationPhase
from muster.backends.allocations.link import AllocationLink
from muster.model.events import ObservedEvent, WorkersExited
from muster.model.ids import NodeName
from muster.model.job import Cause, Worker
from muster.model.node_limits import ALLOCATION_DOUBT_S
from muster.model.records import evolve


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A report that is kept. All later ones of its post are behind it."""

    post: NodeName
    number: int
    event: ObservedEvent
    since_s: float = field(default_factory=time.monotonic)


class Doubts:
    """The reports that are kept."""

    def __init__(self, pass_on: Callable[[NodeName, ObservedEvent, int], None]) -> None:
        """`pass_on` takes a report that is kept no longer."""
        self._pass_on = pass_on
        self._kept: dict[str, deque[_Kept]] = {}

    def has(self, allocation: EngineAllocation) -> bool:
        """True while a report of this allocation is kept."""
        return allocation.id in self._kept

    def has_all(self, allocation: EngineAllocation, workers: Iterable[Worker]) -> bool:
        """True when each of these workers is known to be gone, if reports that are kept count."""
        kept = (each.event for each in self._kept.get(allocation.id, ()))
        ranks = [rank for event in kept if isinstance(event, WorkersExited) for rank in event.ranks]
        return all(worker.rank in allocation.ends or worker.rank in ranks for worker in workers)

    def keeps(self, link: AllocationLink, number: int, event: ObservedEvent) -> bool:
        """Keep a report if the engine may be behind it, or if an earlier one of the allocation is kept."""
        allocation = link.allocation
        if not self.has(allocation) and not _is_doubtful(allocation, event):
            return False
        kept = self._kept.setdefault(allocation.id, deque())
        kept.append(_Kept(post=link.node.name, number=number, event=event))
        return True

    def settle(self, allocation: EngineAllocation, asked_s: float) -> None:
        """The engine was asked then, and has said how the allocation is. If it lives, workers failed by themselves."""
        kept = self._kept.get(allocation.id)
        if kept is None or kept[-1].since_s > asked_s:
            return
        is_too_long = time.monotonic() - kept[0].since_s > ALLOCATION_DOUBT_S
        if allocation.phase is AllocationPhase.RUNNING or is_too_long:
            self.conclude(allocation, None, "")

    def conclude(self, allocation: EngineAllocation, cause: Cause | None, because: str) -> None:
        """Pass everything on, exits with the engine's explanation if it has one."""
        for each in self._kept.pop(allocation.id, ()):
            event = each.event
            if isinstance(event, WorkersExited):
                if cause is not None and _is_doubtful(allocation, event):
                    event = evolve(event, told=False, ended_for=cause, because=because)
                allocation.ends.update(dict.fromkeys(event.ranks, event))
            self._pass_on(each.post, event, each.number)

    def drop(self, allocation: EngineAllocation) -> None:
        """Nobody waits for what it reported."""
        self._kept.pop(allocation.id, None)


def _is_doubtful(allocation: EngineAllocation, event: ObservedEvent) -> bool:
    """True for an exit that neither the worker nor Muster clearly wanted."""
    if not isinstance(event, WorkersExited) or event.timed_out or event.problem:
        return False
    is_failure = event.exit_code != 0 or event.told
    return is_failure and not all(rank in allocation.told for rank in event.ranks)
