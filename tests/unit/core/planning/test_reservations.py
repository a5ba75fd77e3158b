"""Nodes that are set aside for a team, a user or nobody: planning works around them as around a promise."""

from typing import Any

from muster.checker import violations
from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import NodeName, TeamPath
from muster.model.machines.reservation import Reservation
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_job, a_promise, a_scenario, flat, runs, waits
from tests.unit.core.outcomes import codes, evicted, explained, nodes_used, planned, promised, started


def set_aside(*nodes: str, in_hours: float = 0, hours: float = 10, **whom: str) -> Reservation:
    from_ms = NOW_MS + round(in_hours * HOUR_MS)
    return Reservation(
        name="upkeep",
        nodes=tuple(NodeName(node) for node in nodes),
        from_ms=from_ms,
        to_ms=from_ms + round(hours * HOUR_MS),
        team=TeamPath(whom.get("team", "")),
        user=whom.get("user", ""),
    )


def situation(reservation: Reservation, nodes: int = 1, **parts: Any) -> Scenario:
    return evolve(a_scenario(flat(nodes), **parts), reservations=(reservation,))


def test_nothing_starts_on_a_node_that_is_set_aside() -> None:
    scenario = situation(set_aside("n1"), nodes=2, waiting=[waits("w", a_job(gpus=1, hours=1))])
    assert nodes_used(scenario) == ["n2"]


def test_a_job_that_is_done_before_the_window_may_start() -> None:
    waiting = [waits("long", a_job(gpus=1, hours=3), hours_ago=2), waits("short", a_job(gpus=1, hours=2))]
    assert started(situation(set_aside("n1", in_hours=2), waiting=waiting)) == ["short"]


def test_a_job_is_promised_a_start_after_the_window() -> None:
    scenario = situation(set_aside("n1", in_hours=2, hours=4), waiting=[waits("w", a_job(gpus=8, hours=3))])
    assert promised(scenario) == {"w": (6 * HOUR_MS, ("n1",))}


def test_a_job_that_fits_before_the_window_is_promised_that() -> None:
    busy = runs("r", a_job(gpus=8, hours=2, preemptible=False), [("n1", range(8))], hours_ago=1)
    scenario = situation(set_aside("n1", in_hours=3), running=[busy], waiting=[waits("w", a_job(gpus=8, hours=2))])
    assert promised(scenario) == {"w": (HOUR_MS, ("n1",))}


def test_members_of_the_team_use_the_nodes() -> None:
    waiting = [waits("w", a_job(team="nlp/x", hours=5)), waits("other", a_job(team="nl", hours=5))]
    assert started(situation(set_aside("n1", team="nlp"), waiting=waiting)) == ["w"]


def test_the_jobs_of_the_user_use_the_nodes() -> None:
    waiting = [waits("w", a_job(hours=5), user="ann"), waits("other", a_job(hours=5), user="bob")]
    assert started(situation(set_aside("n1", user="ann"), waiting=waiting)) == ["w"]


def test_a_window_that_is_over_keeps_nothing() -> None:
    assert started(situation(set_aside("n1", in_hours=-3, hours=2), waiting=[waits("w")])) == ["w"]


def test_a_promise_that_runs_into_a_new_window_moves_behind_it() -> None:
    busy = runs("r", a_job(gpus=8, hours=2, preemptible=False), [("n1", range(8))], hours_ago=1)
    made = a_promise("w", [("n1", range(8))], in_hours=1)
    waiting = [waits("w", a_job(gpus=8, hours=4))]
    scenario = situation(set_aside("n1", in_hours=3, hours=2), running=[busy], waiting=waiting, promises=[made])
    assert promised(scenario) == {"w": (5 * HOUR_MS, ("n1",))}


def test_a_promised_member_starts_inside_the_window() -> None:
    made = a_promise("w", [("n1", range(8))], in_hours=0)
    waiting = [waits("w", a_job(gpus=8, hours=4, team="nlp"))]
    assert started(situation(set_aside("n1", team="nlp"), waiting=waiting, promises=[made])) == ["w"]


def test_no_job_is_stopped_for_one_that_may_not_use_the_node() -> None:
    victim = runs("r", a_job(gpus=8, tier="exploratory", team="nlp"), [("n1", range(8))])
    urgent = waits("w", a_job(gpus=8, tier="production", hours=9))
    assert evicted(situation(set_aside("n1", in_hours=1, team="nlp"), running=[victim], waiting=[urgent])) == []
    member = waits("w", a_job(gpus=8, tier="production", hours=9, team="nlp"))
    scenario = situation(set_aside("n1", in_hours=1, team="nlp"), running=[victim], waiting=[member])
    assert evicted(scenario) == [("r", "w", "tier")]


def test_a_job_grows_only_where_it_may_stay() -> None:
    elastic = runs("r", a_job(gpus=8, workers=(1, 2), hours=9), [("n1", range(8))], hours_ago=2)
    assert [each.to_workers for each in planned(a_scenario(flat(2), running=[elastic])).resizes] == [2]
    assert planned(situation(set_aside("n2", in_hours=1), nodes=2, running=[elastic])).resizes == ()


def test_why_names_the_reservation_and_its_end() -> None:
    now = situation(set_aside("n1"), waiting=[waits("w", a_job(hours=1))])
    assert codes(now) == ["reservation"]
    reason = explained(now)["w"].reasons[0]
    assert reason.message == "n1 is set aside for nobody by reservation upkeep until 1970-02-12T02:00:00Z"
    assert reason.would_help == "the end of upkeep in 10 h"
    later = situation(set_aside("n1", in_hours=2, team="nlp"), waiting=[waits("w", a_job(hours=3))])
    reason = explained(later)["w"].reasons[0]
    assert "set aside for team nlp by reservation upkeep from 1970-02-11T18:00:00Z until" in reason.message
    assert reason.would_help == "a max_duration of less than 2 h, or the end of upkeep in 12 h"


def test_linter_and_checker_find_a_start_that_runs_into_a_window() -> None:
    open_to_all = a_scenario(flat(1), waiting=[waits("w", a_job(hours=3))])
    careless = planned(open_to_all)
    scenario = evolve(open_to_all, reservations=(set_aside("n1", in_hours=1),))
    assert violations(scenario, careless) == ("w is on n1 while upkeep has it",)
    assert lint(careless, Snapshot.of(scenario)) == ("w is on n1, which is reserved by upkeep",)


def test_a_snapshot_that_is_told_of_a_reservation_plans_like_one_made_with_it() -> None:
    scenario = situation(set_aside("n1"), nodes=2, waiting=[waits("w", a_job(gpus=8))])
    snapshot = Snapshot.of(evolve(scenario, reservations=()))
    snapshot.reserve(scenario.reservations)
    assert snapshot.scenario(NOW_MS) == scenario
    assert plan(snapshot, NOW_MS).starts == plan(Snapshot.of(scenario), NOW_MS).starts


def test_jobs_leave_a_node_for_one_that_is_done_before_its_window() -> None:
    low = runs("low", a_job(gpus=8, hours=2, tier="exploratory"), [("n1", range(8))], hours_ago=1)
    waiting = [waits("w", a_job(gpus=8, hours=2))]
    scenario = situation(set_aside("n1", in_hours=3), running=[low], waiting=waiting)
    assert evicted(scenario) == [("low", "w", "tier")]
    assert promised(scenario)["w"][0] < HOUR_MS
    assert not violations(scenario, planned(scenario))


def test_no_job_leaves_for_one_that_would_run_into_the_window_once_it_has_left() -> None:
    low = runs("low", a_job(gpus=8, hours=2, tier="exploratory"), [("n1", range(8))], hours_ago=1)
    waiting = [waits("w", a_job(gpus=8, hours=3))]
    assert not evicted(situation(set_aside("n1", in_hours=3), running=[low], waiting=waiting))


def test_a_job_waits_for_one_that_leaves_a_node_that_is_set_aside_later_and_no_other_leaves() -> None:
    low = a_job(gpus=8, hours=2, tier="exploratory")
    running = [
        runs("gone", low, [("n1", range(8))], hours_ago=1, leaving_by_ms=NOW_MS + 20_000),
        runs("stays", low, [("n2", range(8))], hours_ago=1),
    ]
    waiting = [waits("w", a_job(gpus=8, hours=2))]
    scenario = situation(set_aside("n1", in_hours=3), nodes=2, running=running, waiting=waiting)
    assert not evicted(scenario)
    assert promised(scenario) == {"w": (20_000, ("n1",))}
