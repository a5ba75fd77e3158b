"""Three hundred random fault schedules and a hundred crowds, every invariant after every event; all of it can fail."""

from collections.abc import Callable
from functools import partial

import pytest

from muster.sim.campaign import check_crowd, check_schedule
from muster.sim.campaign.__main__ import main, seeds
from muster.sim.campaign.violations import Violations
from tests.simulation.planted_bugs import PLANTED, Plant
from tests.simulation.planted_node_bugs import PLANTED_ON_NODES
from tests.simulation.planted_reservation_bugs import PLANTED_IN_RESERVATIONS
from tests.simulation.planted_training_bugs import PLANTED_IN_TRAINING
from tests.simulation.planted_verdict_bugs import PLANTED_IN_VERDICTS
from tests.simulation.planted_wait_bugs import PLANTED_IN_CROWDS

SCHEDULES = 300
CROWDS = 100
AT_ONCE = 10
BUGS = PLANTED | PLANTED_ON_NODES | PLANTED_IN_TRAINING | PLANTED_IN_VERDICTS | PLANTED_IN_RESERVATIONS
FURTHER = 100
"""Schedules after the known one in which a planted bug is looked for: planning may change which one finds it."""


@pytest.mark.parametrize("first", range(0, SCHEDULES, AT_ONCE))
def test_nothing_is_wrong_whatever_goes_wrong(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        found = check_schedule(seed)
        assert not found, str(found)


@pytest.mark.parametrize("first", range(0, CROWDS, AT_ONCE))
def test_no_job_waits_longer_than_it_may_in_a_crowd(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        found = check_crowd(seed)
        assert not found, str(found)


@pytest.mark.parametrize(
    "again",
    [
        partial(check_schedule, 1197),
        partial(check_schedule, 8605),
        partial(check_crowd, 5990),
        partial(check_schedule, 4624),
        partial(check_schedule, 3244),
        partial(check_schedule, 6688),
        partial(check_schedule, 7352),
        partial(check_schedule, 5501),
    ],
    ids=[
        "a borrower takes back the place that it left, because of an older promise",
        "a victim stays although its team may stop another only because it leaves",
        "a job of a lower tier comes and starts at once in a gap",
        "a node whose clock is behind saves a later step",
        "a control plane stands still while an attempt ends and another begins",
        "an attempt of which a restored database knows nothing uploads a step",
        "a node that another job was promised is kept for a job that lost one",
        "and the job is a gang",
    ],
)
def test_what_once_went_wrong_does_not_go_wrong_again(again: Callable[[], Violations]) -> None:
    found = again()
    assert not found, str(found)


@pytest.mark.pure_only(reason="compiled code calls its own functions, whatever was put in their place")
@pytest.mark.parametrize("plant", BUGS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    known = BUGS[plant]
    assert any(check_schedule(seed) for seed in range(known, known + FURTHER))


@pytest.mark.pure_only(reason="compiled code calls its own functions, whatever was put in their place")
@pytest.mark.parametrize("plant", PLANTED_IN_CROWDS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_that_makes_jobs_wait_is_found_in_a_crowd(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    known = PLANTED_IN_CROWDS[plant]
    found = (check_crowd(seed) for seed in range(known, known + FURTHER))
    assert any("has waited" in each.problems[0] for each in found if each)


def test_there_are_enough_planted_bugs() -> None:
    assert len(BUGS) >= 50


def test_a_number_names_one_schedule_for_ever() -> None:
    for check in (*(partial(check_schedule, seed) for seed in range(8)), partial(check_crowd, 0)):
        first, second = check(), check()
        assert (first.log_hash, first.events) == (second.log_hash, second.events)
        assert first.events > 0


@pytest.mark.pure_only(reason="compiled code calls its own functions, whatever was put in their place")
def test_what_is_wrong_is_told_with_the_story_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = next(each for each in PLANTED if each.__name__ == "the_maximum_duration_is_not_enforced")
    plant(monkeypatch)
    told = str(check_schedule(PLANTED[plant]))
    assert f"schedule {PLANTED[plant]}:" in told
    assert "after its maximum duration" in told
    assert "JobSubmitted" in told


def test_schedules_can_be_run_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(seeds("3..6")) == [3, 4, 5]
    assert list(seeds("7")) == [7]
    assert main(["0..3", "--processes", "1"]) == 0
    told = capsys.readouterr().out
    assert "3 of 3 schedules, 0 broken" in told
    assert "1 crowds" in told
