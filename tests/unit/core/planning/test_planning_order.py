"""The order of waiting jobs, where it meets the team tree."""

from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from tests.builders import a_job, a_scenario, flat, waits


def test_a_team_and_its_sub_team_may_both_wait_without_being_declared() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w1", a_job(team="a")), waits("w2", a_job(team="a/x"))])
    assert {start.job for start in plan(Snapshot.of(scenario), scenario.now_ms).starts} == {"w1", "w2"}
