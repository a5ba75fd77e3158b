"""Bugs in who may lead when, planted like those in `planted_bugs.py`. Schedules of lost leaders must find them."""

from typing import Any

from muster.core.lease import HeldLease, LeaseWatch
from muster.model.machines.lease import LEASE_MS
from muster.sim.campaign.simulated_database import SimulatedDatabase, SimulatedNodes
from muster.sim.campaign.simulated_plane import SimulatedPlane
from tests.simulation.planted_bugs import Patch, Plant


def writes_are_not_fenced_by_the_epoch(patch: Patch) -> None:
    patch.setattr(SimulatedDatabase, "_is_over", lambda _self, _epoch: False)


def nodes_obey_any_epoch(patch: Patch) -> None:
    patch.setattr(SimulatedNodes, "_is_over", lambda _self, _epoch: False)


def the_lease_never_runs_out_by_itself(patch: Patch) -> None:
    patch.setattr(HeldLease, "is_valid", lambda self, _now_ms: not self.is_lost)


def the_lease_counts_from_the_answer(patch: Patch) -> None:
    honest = SimulatedPlane._renew

    def renew(self: Any) -> Any:
        steps = honest(self)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                if self.held is not None:
                    self.held.renewed(self.clock_ms)
                return end.value
            yield

    patch.setattr(SimulatedPlane, "_renew", renew)


def a_standby_does_not_wait_for_the_whole_lease(patch: Patch) -> None:
    honest = LeaseWatch.look

    def look(self: Any, record: Any, now_ms: int, *, is_dead: bool = False) -> bool:
        return honest(self, record, now_ms + LEASE_MS // 2, is_dead=is_dead) or now_ms - self._since_ms > LEASE_MS // 4

    patch.setattr(LeaseWatch, "look", look)


def the_wish_of_another_is_ignored_for_ever(patch: Patch) -> None:
    patch.setattr(LeaseWatch, "_is_own_turn", lambda self, record, _waited_ms: record.wanted_by == self._own_id)


PLANTED_IN_LEASES: dict[Plant, int] = {
    writes_are_not_fenced_by_the_epoch: 107,
    nodes_obey_any_epoch: 11,
    the_lease_never_runs_out_by_itself: 1,
    the_lease_counts_from_the_answer: 1,
    a_standby_does_not_wait_for_the_whole_lease: 8,
    the_wish_of_another_is_ignored_for_ever: 0,
}
"""Every bug and the first schedule that finds it."""
