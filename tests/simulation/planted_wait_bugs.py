"""Bugs to be planted that make jobs wait longer than they may. In other schedules no job waits for long."""

from typing import Any

from muster.core.order import queueing
from muster.core.planning import next_cycle
from muster.core.planning.displacing import turns
from muster.engine.starvation_watch import StarvationWatch
from tests.simulation.planted_bugs import Patch, Plant


def the_job_that_has_had_most_goes_first(patch: Patch) -> None:
    honest = queueing._band
    patch.setattr(queueing, "_band", lambda job, policy: max(3 - honest(job, policy), 0))


def no_job_leaves_for_a_better_band(patch: Patch) -> None:
    def worse_by_band(self: Any, tier: int, place: Any) -> Any:
        found = self._equals(tier, place)
        return iter([found] if found else [])

    patch.setattr(turns.Turns, "_worse_by_band", worse_by_band)


def no_turn_ends(patch: Patch) -> None:
    patch.setattr(turns.Turns, "_equals", lambda *_: [])


def no_job_counts_as_starved(patch: Patch) -> None:
    patch.setattr(StarvationWatch, "has_starved", lambda *_: False)


def jobs_that_start_are_not_looked_at_again(patch: Patch) -> None:
    patch.setattr(next_cycle, "SETTLING_MS", 0)


PLANTED_IN_CROWDS: dict[Plant, int] = {
    the_job_that_has_had_most_goes_first: 0,
    no_job_leaves_for_a_better_band: 0,
    no_turn_ends: 17,
    no_job_counts_as_starved: 2,
    jobs_that_start_are_not_looked_at_again: 13,
}
"""Every bug and the first crowd that finds it; `measure_planted_bugs` says which that is."""
