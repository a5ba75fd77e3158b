"""Promises: when and where, what may run in front of them, and what becomes of them in later cycles."""

from typing import Any

import pytest

from muster.model.ids import TierName
from muster.model.job import RunningJob
from muster.model.limits import FAR_PROMISE_MS, OVERDUE_MARGIN_MS, PROMISES, STARVING_PER_CYCLE
from muster.model.plan import Basis
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy, Tier
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, flat, racks, runs, waits
from tests.unit.core.outcomes import evicted, planned, promised, seats, started


def busy(node: str = "n1", gpus: int = 8, *, hours: float = 3, job_id: str = "r", **fields: Any) -> RunningJob:
    """A job that stays until its limit; it started an hour ago."""
    return runs(job_id, a_job(gpus=gpus, hours=hours, preemptible=False, **fields), [(node, range(gpus))])


def blocked(*more: Any, gpus: int = 4, hours: float = 3, policy: Policy | None = None, **fields: Any) -> Scenario:
    """Half of the only node is used for two more hours; `big` waits for all of it."""
    waiting = [waits("big", a_job(gpus=8, priority=90)), *more]
    return a_scenario(flat(1), running=[busy(gpus=gpus, hours=hours)], waiting=waiting, policy=policy, **fields)


def test_a_blocked_job_is_promised_the_time_by_which_those_in_its_way_must_be_gone() -> None:
    assert promised(blocked()) == {"big": (2 * HOUR_MS, ("n1",))}


def test_a_job_that_states_no_limit_is_gone_by_that_of_its_tier() -> None:
    tiers = (Tier(name=TierName("standard"), max_duration_ms=5 * HOUR_MS),)
    running = [runs("r", a_job(gpus=8), [("n1", range(8))])]
    scenario = a_scenario(flat(1), tiers=tiers, running=running, waiting=[waits("w", a_job(gpus=8))])
    assert promised(scenario) == {"w": (4 * HOUR_MS, ("n1",))}


def test_an_expected_duration_is_never_trusted_for_a_promise() -> None:
    running = [busy(expected_duration_ms=HOUR_MS)]
    scenario = a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=8))])
    assert promised(scenario) == {"w": (2 * HOUR_MS, ("n1",))}


def test_a_job_past_its_limit_is_expected_gone_in_a_moment() -> None:
    scenario = a_scenario(flat(1), running=[busy(hours=0.5)], waiting=[waits("w", a_job(gpus=8))])
    assert promised(scenario) == {"w": (OVERDUE_MARGIN_MS, ("n1",))}


def test_a_short_job_runs_in_front_of_a_promise_and_a_long_one_does_not() -> None:
    short, long = waits("short", a_job(gpus=4, hours=2)), waits("long", a_job(gpus=4, hours=2.1))
    assert started(blocked(short)) == ["short"]
    assert started(blocked(long)) == []


def test_a_long_job_may_run_beside_a_promise() -> None:
    scenario = a_scenario(
        flat(2),
        running=[busy(gpus=8), busy("n2", 4, job_id="r2", hours=9)],
        waiting=[waits("big", a_job(gpus=8, priority=90)), waits("long", a_job(gpus=4, hours=99))],
    )
    assert promised(scenario)["big"] == (2 * HOUR_MS, ("n1",))
    assert seats(scenario) == {"long": [("n2", (4, 5, 6, 7))]}


def test_a_lower_tier_does_not_delay_a_promise_either() -> None:
    assert started(blocked(waits("low", a_job(gpus=4, hours=9, tier="exploratory")))) == []


def test_without_backfill_nothing_passes_the_blocked_job() -> None:
    policy = Policy(backfill=False)
    more = [waits("short", a_job(gpus=1, hours=1)), waits("low", a_job(gpus=1, hours=1, tier="exploratory"))]
    assert started(blocked(*more, policy=policy)) == []
    assert list(promised(blocked(*more, policy=policy))) == ["big"]


def test_without_backfill_a_higher_tier_still_goes_first() -> None:
    top = waits("top", a_job(gpus=4, tier="production"))
    assert started(blocked(top, policy=Policy(backfill=False))) == ["top"]


def test_without_backfill_a_job_that_can_never_run_stops_no_other() -> None:
    waiting = [waits("never", a_job(gpu_type="b200", priority=90)), waits("w")]
    assert started(a_scenario(flat(1), waiting=waiting, policy=Policy(backfill=False))) == ["w"]


def test_only_the_first_blocked_jobs_of_a_tier_are_promised_a_start() -> None:
    more = [waits(f"w{at}", a_job(gpus=8, priority=50 - at)) for at in range(4)]
    low = waits("low", a_job(gpus=8, tier="exploratory"))
    assert list(promised(blocked(*more, low, policy=Policy(hold_depth=2)))) == ["big", "w0", "low"]


def test_promises_to_several_jobs_follow_each_other() -> None:
    more = waits("next", a_job(gpus=8, hours=5))
    spec = a_job(gpus=8, hours=4, priority=90)
    scenario = a_scenario(flat(1), running=[busy(gpus=8)], waiting=[waits("big", spec), more])
    assert promised(scenario) == {"big": (2 * HOUR_MS, ("n1",)), "next": (6 * HOUR_MS, ("n1",))}


def test_a_short_job_is_promised_a_gap_before_a_longer_promise() -> None:
    running = [busy("n1", hours=2), busy("n2", job_id="r2", hours=9)]
    waiting = [waits("wide", a_job(gpus=8, workers=2, priority=90)), waits("short", a_job(gpus=8, hours=7))]
    assert promised(a_scenario(flat(2), running=running, waiting=waiting)) == {
        "wide": (8 * HOUR_MS, ("n1", "n2")),
        "short": (HOUR_MS, ("n1",)),
    }


def test_a_job_that_has_waited_too_long_is_promised_a_start_whatever_the_depth() -> None:
    policy = Policy(hold_depth=0, starvation_limit_ms=10 * HOUR_MS)
    old, young = waits("old", a_job(gpus=8), hours_ago=10), waits("young", a_job(gpus=8), hours_ago=9.9)
    scenario = a_scenario(flat(1), running=[busy()], waiting=[young, old], policy=policy)
    assert list(promised(scenario)) == ["old"]


def test_starving_jobs_get_their_promises_a_few_a_cycle_oldest_first() -> None:
    policy = Policy(hold_depth=0, starvation_limit_ms=HOUR_MS)
    waiting = [waits(f"w{at}", a_job(gpus=8), hours_ago=10 - at) for at in range(STARVING_PER_CYCLE + 2)]
    scenario = a_scenario(flat(1), running=[busy()], waiting=waiting, policy=policy)
    assert list(promised(scenario)) == [f"w{at}" for at in range(STARVING_PER_CYCLE)]


FAR_HOURS = FAR_PROMISE_MS / HOUR_MS + 2


def queued_for(hours: float, *waiting: Any, policy: Policy | None = None) -> list[str]:
    """Who is promised a start when the only node is used for so many hours more."""
    rules = policy or Policy(turns=False, hold_depth=2)
    return list(promised(a_scenario(flat(1), running=[busy(hours=hours + 1)], waiting=waiting, policy=rules)))


def test_without_turns_only_the_first_job_of_a_tier_is_promised_a_start_that_is_weeks_away() -> None:
    waiting = [waits(f"w{at}", a_job(gpus=8, priority=50 - at)) for at in range(3)]
    low = waits("low", a_job(gpus=8, tier="exploratory"))
    assert queued_for(2, *waiting, low) == ["w0", "w1", "low"]
    assert queued_for(FAR_HOURS, *waiting, low) == ["w0", "low"]


def test_without_turns_one_starving_job_at_a_time_is_promised_a_start_that_is_weeks_away() -> None:
    old = [waits(f"old{at}", a_job(gpus=8, priority=20), hours_ago=40 - at) for at in range(2)]
    young = waits("young", a_job(gpus=8, priority=99))
    assert queued_for(2, *old, young) == ["young", "old0", "old1"]
    assert queued_for(FAR_HOURS, *old, young) == ["young", "old0"]
    assert queued_for(FAR_HOURS, *old, policy=Policy(turns=False, hold_depth=0)) == ["old0"]


def test_the_cycle_comes_back_when_a_job_begins_to_starve() -> None:
    """Nothing else happens before: without a timer the job would have no promise until another job moves."""
    policy = Policy(hold_depth=0, starvation_limit_ms=2 * HOUR_MS)
    scenario = a_scenario(flat(1), running=[busy(hours=90)], waiting=[waits("w", a_job(gpus=8))], policy=policy)
    assert planned(scenario).wake_ms == NOW_MS + HOUR_MS


def test_no_more_promises_are_made_than_can_be_kept_in_mind() -> None:
    policy = Policy(hold_depth=PROMISES + 9)
    waiting = [waits(f"w{at:03}", a_job(gpus=8, hours=1)) for at in range(PROMISES + 9)]
    scenario = a_scenario(flat(1), running=[busy()], waiting=waiting, policy=policy)
    assert len(promised(scenario)) == PROMISES


def test_a_job_that_only_its_quota_stops_is_promised_nothing_before_it_starves() -> None:
    teams = [a_team("a", limit={"*": 8})]
    running = [busy(team="a")]
    spec = a_job(gpus=8, team="a")
    young, old = waits("w", spec, hours_ago=1), waits("w", spec, hours_ago=30)
    assert promised(a_scenario(flat(2), teams=teams, running=running, waiting=[young])) == {}
    assert promised(a_scenario(flat(2), teams=teams, running=running, waiting=[old]))["w"][0] == 2 * HOUR_MS


def test_a_promise_waits_for_the_quota_as_well_as_for_the_gpus() -> None:
    scenario = a_scenario(
        flat(2),
        teams=[a_team("a", limit={"*": 8})],
        running=[busy("n1", hours=2, team="b"), busy("n2", job_id="r2", hours=6, team="a")],
        waiting=[waits("w", a_job(gpus=8, team="a"), hours_ago=30)],
    )
    assert promised(scenario)["w"][0] == 5 * HOUR_MS


def test_the_cycle_comes_back_when_a_promise_is_due() -> None:
    assert planned(blocked()).wake_ms == NOW_MS + 2 * HOUR_MS


def with_promises(
    *promises: Any, waiting: Any = None, running: Any = (), cluster: Any = None, **fields: Any
) -> Scenario:
    """`w` was promised something in an earlier cycle."""
    jobs = waiting or [waits("w", a_job(gpus=8, hours=4), hours_ago=5)]
    return a_scenario(cluster or flat(2), running=running, waiting=jobs, promises=promises, **fields)


def test_a_promise_stands_unchanged_while_it_can_be_kept() -> None:
    mine = a_promise("w", [("n2", range(8))], in_hours=2)
    scenario = with_promises(mine, running=[busy("n1", hours=9), busy("n2", job_id="r2")])
    assert planned(scenario).promises == (mine,)


def test_a_promised_job_starts_earlier_when_its_gpus_come_free_earlier() -> None:
    assert seats(with_promises(a_promise("w", [("n2", range(8))], in_hours=2))) == {"w": [("n2", tuple(range(8)))]}


def test_a_promised_job_starts_elsewhere_when_that_comes_free_earlier() -> None:
    scenario = with_promises(a_promise("w", [("n2", range(8))], in_hours=2), running=[busy("n2")])
    assert seats(scenario) == {"w": [("n1", tuple(range(8)))]}


def test_a_promise_does_not_move_for_a_job_submitted_later() -> None:
    mine = a_promise("w", [("n1", range(8))], in_hours=2)
    waiting = [
        waits("w", a_job(gpus=8)),
        *(waits(f"late{at}", a_job(gpus=2, priority=100, hours=9), hours_ago=0) for at in range(4)),
    ]
    scenario = with_promises(mine, waiting=waiting, cluster=flat(1), running=[busy(gpus=4)])
    assert planned(scenario).promises[0] == mine
    assert started(scenario) == []


def test_a_promise_moves_for_a_higher_tier_and_the_job_is_told() -> None:
    mine = a_promise("w", [("n1", range(8))], in_hours=2)
    waiting = [waits("w", a_job(gpus=8)), waits("top", a_job(gpus=4, tier="production", hours=9), hours_ago=0)]
    scenario = with_promises(mine, waiting=waiting, cluster=flat(1), running=[busy(gpus=4)])
    assert started(scenario) == ["top"]
    (promise,) = planned(scenario).promises
    assert promise.start_ms == NOW_MS + 9 * HOUR_MS
    assert "more urgent" in promise.moved_because


@pytest.mark.parametrize("ill", [{"state": "down"}, {"state": "draining"}])
def test_a_promise_moves_when_its_node_is_lost_and_the_job_is_told_which(ill: dict[str, Any]) -> None:
    cluster = a_cluster(a_node("n1", **ill), a_node("n2"))
    scenario = with_promises(a_promise("w", [("n1", range(8))], in_hours=1), cluster=cluster, running=[busy("n2")])
    (promise,) = planned(scenario).promises
    assert (promise.nodes, promise.start_ms - NOW_MS) == (("n2",), 2 * HOUR_MS)
    assert promise.moved_because == "node n1 no longer takes work"


def test_a_promise_on_a_gpu_that_went_bad_moves() -> None:
    cluster = a_cluster(a_node("n1", bad_gpus=(0,)), a_node("n2"))
    scenario = with_promises(a_promise("w", [("n1", range(8))], in_hours=1), cluster=cluster, running=[busy("n2")])
    assert promised(scenario) == {"w": (2 * HOUR_MS, ("n2",))}


def test_a_promise_on_a_node_that_is_gone_moves_and_the_job_is_told() -> None:
    scenario = with_promises(a_promise("w", [("gone", range(8))], in_hours=1), cluster=flat(1), running=[busy()])
    (promise,) = planned(scenario).promises
    assert (promise.nodes, promise.moved_because) == (("n1",), "a node it was promised is gone")


def test_a_promise_on_a_type_that_the_job_does_not_accept_moves() -> None:
    cluster = a_cluster(a_node("n1", gpu_type="a100"), a_node("n2"))
    waiting = [waits("w", a_job(gpus=8, gpu_type="h100"))]
    scenario = with_promises(
        a_promise("w", [("n1", range(8))], in_hours=1), cluster=cluster, waiting=waiting, running=[busy("n2")]
    )
    assert promised(scenario) == {"w": (2 * HOUR_MS, ("n2",))}


def test_a_promise_to_a_job_that_is_gone_or_not_considered_any_more_is_dropped() -> None:
    promises = [a_promise("gone", [("n1", range(8))], in_hours=1), a_promise("idle", [("n2", range(8))], in_hours=1)]
    scenario = with_promises(*promises, waiting=[waits("idle", held=True), waits("w", a_job(gpus=8, workers=2))])
    assert started(scenario) == ["w"]
    assert promised(scenario) == {}


def test_a_job_that_outstays_its_time_on_promised_gpus_is_told_to_leave() -> None:
    """Its limit was an hour, it has run for one: the promise is due and moves by the moment that leaving takes."""
    overdue = runs("r", a_job(gpus=8, hours=1), [("n1", range(8))], hours_ago=1)
    scenario = with_promises(a_promise("w", [("n1", range(8))], in_hours=0), cluster=flat(1), running=[overdue])
    assert evicted(scenario) == [("r", "w", "hold")]
    (promise,) = planned(scenario).promises
    assert promise.start_ms <= NOW_MS + OVERDUE_MARGIN_MS
    assert promise.moved_because == "a job outstays its time on the promised GPUs"


def test_a_promise_on_the_gpus_of_an_overdue_job_waits_for_the_whole_grace_period_of_that_job() -> None:
    saves = a_job(gpus=8, hours=1, checkpoint=True, grace_ms=3 * OVERDUE_MARGIN_MS)
    overdue = runs("r", saves, [("n1", range(8))], hours_ago=1)
    scenario = with_promises(a_promise("w", [("n1", range(8))], in_hours=0), cluster=flat(1), running=[overdue])
    assert evicted(scenario) == [("r", "w", "hold")]
    assert promised(scenario) == {"w": (3 * OVERDUE_MARGIN_MS, ("n1",))}


def test_a_job_that_is_leaving_already_is_not_told_again() -> None:
    leaving = runs("r", a_job(gpus=8, hours=1), [("n1", range(8))], hours_ago=1, leaving_by_ms=NOW_MS + 20_000)
    scenario = with_promises(a_promise("w", [("n1", range(8))], in_hours=0), cluster=flat(1), running=[leaving])
    assert evicted(scenario) == []
    assert promised(scenario) == {"w": (20_000, ("n1",))}


def test_a_promise_that_is_due_and_stopped_by_quota_stands_as_due_now() -> None:
    """The limit was lowered: the promise cannot be kept and there is no other time at which it could."""
    scenario = a_scenario(
        flat(2),
        teams=[a_team("a", limit={"*": 8})],
        running=[busy("n1", team="a", hours=5)],
        waiting=[waits("w", a_job(gpus=8, team="a"), hours_ago=30)],
        promises=[a_promise("w", [("n2", range(8))], in_hours=-0.5)],
    )
    (promise,) = planned(scenario).promises
    assert promise.start_ms == NOW_MS + 4 * HOUR_MS
    assert "changed quota" in promise.moved_because


def test_a_job_that_is_being_moved_keeps_its_new_place() -> None:
    moving = runs("m", a_job(gpus=8, checkpoint=True), [("n1", range(8))], leaving_by_ms=NOW_MS + 60_000)
    mine = a_promise("m", [("n2", range(8))], in_hours=1 / 60, basis=Basis.DEPARTURES)
    scenario = with_promises(mine, running=[moving], waiting=[waits("w", a_job(gpus=8, workers=1, hours=9))])
    assert mine in planned(scenario).promises
    assert started(scenario) == []


def test_two_promises_for_the_same_gpus_do_not_both_stand() -> None:
    promises = [
        a_promise("w", [("n1", range(8))], in_hours=2),
        a_promise("w2", [("n1", range(8))], in_hours=2, made_ms=NOW_MS - 1),
    ]
    waiting = [waits("w", a_job(gpus=8, hours=4)), waits("w2", a_job(gpus=8, hours=4))]
    scenario = with_promises(*promises, waiting=waiting, cluster=flat(1), running=[busy()])
    assert promised(scenario) == {"w": (2 * HOUR_MS, ("n1",)), "w2": (6 * HOUR_MS, ("n1",))}


def test_cpus_are_promised_as_gpus_are() -> None:
    """Half of the CPUs that `w` was promised are used by a job that stays longer."""
    running = [runs("r", a_job(gpus=1, cpus=8, hours=9, preemptible=False), [("n1", (0,))])]
    waiting = [waits("w", a_job(gpus=1, cpus=12))]
    scenario = with_promises(
        a_promise("w", [("n1", (1,))], in_hours=1), cluster=flat(1, cpus=16), waiting=waiting, running=running
    )
    assert promised(scenario) == {"w": (8 * HOUR_MS, ("n1",))}


def test_many_promises_at_different_times_still_let_short_jobs_in_front() -> None:
    """More starts than backfill tells apart: those beyond count as earlier, which is safe."""
    count = 12
    running = [busy(f"n{at}", 4, job_id=f"r{at}", hours=1 + at) for at in range(1, count + 1)]
    waiting = [waits(f"w{at:02}", a_job(gpus=8, priority=90, hours=0.5)) for at in range(count)]
    scenario = a_scenario(
        flat(count),
        running=running,
        waiting=[*waiting, waits("s", a_job(gpus=4, hours=0.9))],
        policy=Policy(hold_depth=count),
    )
    assert started(scenario) == ["s"]


def test_a_gang_that_waits_for_its_rack_is_promised_the_rack_or_a_later_wider_place() -> None:
    running = [busy("r1-n1", hours=2), busy("r1-n2", job_id="r2", hours=4)]
    can_wait = waits("w", a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=9 * HOUR_MS), hours_ago=1)
    hasty = evolve(can_wait, spec=a_job(gpus=8, workers=2, prefer="rack"))
    cluster = racks(2, 2)
    cluster = evolve(cluster, nodes=cluster.nodes[:3])
    assert promised(a_scenario(cluster, running=running, waiting=[can_wait])) == {
        "w": (3 * HOUR_MS, ("r1-n1", "r1-n2"))
    }
    assert promised(a_scenario(cluster, running=running, waiting=[hasty])) == {"w": (HOUR_MS, ("r1-n1", "r2-n1"))}


def test_the_cycle_comes_back_soon_while_starving_jobs_are_without_a_promise() -> None:
    policy = Policy(hold_depth=0, starvation_limit_ms=HOUR_MS)
    waiting = [waits(f"w{at}", a_job(gpus=8), hours_ago=9) for at in range(STARVING_PER_CYCLE + 1)]
    scenario = a_scenario(flat(1), running=[busy(hours=90)], waiting=waiting, policy=policy)
    wake_ms = planned(scenario).wake_ms
    assert wake_ms is not None
    assert wake_ms <= NOW_MS + MINUTE_MS
