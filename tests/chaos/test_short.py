"""A short run of the chaos driver: every kind of fault strikes a real server once, and no promise is broken."""

import os

import pytest

from tests.capabilities import needs
from tests.chaos.faults import KINDS
from tests.chaos.trial import run_trial

TRIALS = {
    101: ("supervisor-kill", "control-kill", "worker-kill", "down-jobs"),
    102: ("supervisor-stop", "control-stop", "worker-stop", "empty-database"),
    103: ("database-kill", "backend-kill", "database-stop", "second-home"),
    104: ("disk-full", "database-moved", "take-over"),
    105: ("clock-step", "old-backup"),
    106: ("database-deleted", "new-database"),
    107: ("database-truncated",),
}
"""By seed, what strikes one after another."""


def test_every_kind_of_fault_has_its_turn() -> None:
    assert sorted(name for kinds in TRIALS.values() for name in kinds) == sorted(KINDS)


@pytest.mark.parametrize("seed", TRIALS)
def test_no_promise_is_broken(seed: int) -> None:
    kinds = TRIALS[seed]
    if any(KINDS[name].needs_disk for name in kinds):
        needs("mounting")
    if any(KINDS[name].needs_clock for name in kinds):
        needs("a compiler")
    result = run_trial(seed, f"short-{os.getpid()}-{seed}", exactly=kinds)
    assert not result.violations, "\n".join(f"{each['rule']}: {each['told']}" for each in result.violations)
    assert sorted(fault["kind"] for fault in result.faults) == sorted(kinds), result.notes
