"""Measures, for each planted bug, the first schedule that finds it: `python -m tests.simulation.measure_planted_bugs`.

A schedule counts only when it is clean without the bug.
"""

import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

from muster.sim.campaign import check_crowd, check_schedule
from tests.simulation.planted_bugs import PLANTED
from tests.simulation.planted_node_bugs import PLANTED_ON_NODES
from tests.simulation.planted_reservation_bugs import PLANTED_IN_RESERVATIONS
from tests.simulation.planted_training_bugs import PLANTED_IN_TRAINING
from tests.simulation.planted_verdict_bugs import PLANTED_IN_VERDICTS
from tests.simulation.planted_wait_bugs import PLANTED_IN_CROWDS

SCHEDULES = 1_000
PLANTS = {
    plant.__name__: plant
    for plant in (
        *PLANTED,
        *PLANTED_ON_NODES,
        *PLANTED_IN_TRAINING,
        *PLANTED_IN_VERDICTS,
        *PLANTED_IN_RESERVATIONS,
        *PLANTED_IN_CROWDS,
    )
}


def plants() -> list[str]:
    """The names of all bugs."""
    return list(PLANTS)


def first_found(name: str) -> tuple[str, int | None, str]:
    """The bug, the first schedule that finds it, and what it says."""
    check = check_crowd if PLANTS[name] in PLANTED_IN_CROWDS else check_schedule
    for seed in range(SCHEDULES):
        with pytest.MonkeyPatch.context() as patch:
            PLANTS[name](patch)
            found = check(seed)
        if found and not check(seed):
            return name, seed, found.problems[0]
    return name, None, ""


def main() -> None:
    """Print one line for each bug."""
    names = sys.argv[1:] or plants()
    with ProcessPoolExecutor(2) as pool:
        for name, seed, problem in pool.map(first_found, names):
            sys.stdout.write(f"{name:55} {seed!s:>5}  {problem[:110]}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
