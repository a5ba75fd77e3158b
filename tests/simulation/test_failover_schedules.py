"""Two hundred schedules in which leaders are lost; a thousand are run by `muster.sim.campaign --only-failover`."""

import pytest

from muster.sim.campaign import check_failover
from muster.sim.campaign.__main__ import main
from tests.simulation.planted_bugs import Plant
from tests.simulation.planted_lease_bugs import PLANTED_IN_LEASES

SCHEDULES = 200
AT_ONCE = 20
FURTHER = 60
"""Schedules after the known one in which a planted bug is looked for."""


@pytest.mark.parametrize("first", range(0, SCHEDULES, AT_ONCE))
def test_nothing_is_wrong_whichever_leader_is_lost(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        found = check_failover(seed)
        assert not found, str(found)


@pytest.mark.parametrize("seed", [2315, 5073])
def test_a_leader_that_wakes_up_late_lets_nodes_forget_nothing(seed: int) -> None:
    found = check_failover(seed)
    assert not found, str(found)


@pytest.mark.pure_only(reason="compiled code calls its own functions, whatever was put in their place")
@pytest.mark.parametrize("plant", PLANTED_IN_LEASES, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    known = PLANTED_IN_LEASES[plant]
    assert any(check_failover(seed) for seed in range(known, known + FURTHER))


def test_a_number_names_one_schedule_for_ever() -> None:
    first, second = check_failover(3), check_failover(3)
    assert (first.events, first.at_ms) == (second.events, second.at_ms)
    assert first.events > 0


def test_the_command_runs_only_these_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["0..2", "--only-failover", "--processes", "1"]) == 0
    assert "2 schedules of lost leaders" in capsys.readouterr().out
