"""Which jobs yield: lower tiers and borrowers, cheapest first, none that is protected, shrinking before stopping."""

from typing import Any

import pytest

from muster.model.ids import TierName
from muster.model.limits import NEXT_CYCLE_MS, PREEMPTORS_MAX
from muster.model.plan import Basis
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy, Tier
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, flat, racks, runs, waits
from tests.unit.core.outcomes import evicted, planned, promised, resized, started

ONE_TIER = (Tier(name=TierName("standard")),)


def against(tier: str, *, victim_tier: str = "exploratory", policy: Policy | None = None, **victim: Any) -> Scenario:
    """A full node and a job of `tier` that wants all of it."""
    hours_ago = victim.pop("hours_ago", 1)
    running = [runs("v", a_job(gpus=8, tier=victim_tier, **victim), [("n1", range(8))], hours_ago=hours_ago)]
    return a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=8, tier=tier))], policy=policy)


@pytest.mark.parametrize(("tier", "victim_tier"), [("production", "standard"), ("standard", "exploratory")])
def test_a_tier_that_preempts_takes_the_place_of_a_lower_one(tier: str, victim_tier: str) -> None:
    assert evicted(against(tier, victim_tier=victim_tier)) == [("v", "w", "tier")]


@pytest.mark.parametrize(
    ("tier", "victim_tier"),
    [("standard", "standard"), ("exploratory", "standard"), ("standard", "production"), ("production", "production")],
)
def test_no_job_takes_the_place_of_one_of_an_equal_or_a_higher_tier(tier: str, victim_tier: str) -> None:
    assert evicted(against(tier, victim_tier=victim_tier)) == []


def test_a_preemptor_waits_on_the_gpus_of_its_victim_until_it_is_gone() -> None:
    scenario = against("production", checkpoint=True, grace_ms=90_000)
    (promise,) = planned(scenario).promises
    assert (promise.job, promise.start_ms - NOW_MS, promise.nodes, promise.basis) == (
        "w",
        90_000,
        ("n1",),
        Basis.DEPARTURES,
    )
    assert started(scenario) == []


def test_a_victim_that_cannot_save_itself_gets_the_time_the_policy_gives() -> None:
    assert promised(against("production", policy=Policy(stop_grace_ms=7_000))) == {"w": (7_000, ("n1",))}


def test_the_policy_may_forbid_preemption() -> None:
    for is_allowed in (False, True):
        policy = Policy(preemption=is_allowed)
        assert evicted(against("production", policy=policy)) == [("v", "w", "tier")] * is_allowed


def test_a_job_that_is_not_preemptible_stays() -> None:
    assert evicted(against("production", preemptible=False)) == []
    assert evicted(against("production", preemptible=True)) == [("v", "w", "tier")]


def test_a_job_is_not_stopped_before_its_minimum_run_time() -> None:
    policy = Policy(min_runtime_ms=30 * MINUTE_MS)
    assert evicted(against("production", policy=policy, hours_ago=0.49)) == []
    assert evicted(against("production", policy=policy, hours_ago=0.5)) == [("v", "w", "tier")]


def test_the_cycle_comes_back_when_a_victim_has_had_its_minimum_run_time() -> None:
    """Nothing else happens before: without a timer the urgent job would wait for the victim's limit, days away."""
    scenario = against("production", hours_ago=0.1)
    assert planned(scenario).wake_ms == NOW_MS + 4 * MINUTE_MS


def test_a_job_that_was_preempted_itself_makes_no_job_leave() -> None:
    running = [runs("v", a_job(gpus=8, tier="exploratory"), [("n1", range(8))])]
    for was_preempted in (True, False):
        waiting = [waits("w", a_job(gpus=8, tier="production"), requeued=was_preempted)]
        assert bool(evicted(a_scenario(flat(1), running=running, waiting=waiting))) is not was_preempted


def test_an_urgent_job_that_has_had_gpu_time_and_lost_its_node_makes_others_leave_as_before() -> None:
    running = [runs("v", a_job(gpus=8, tier="exploratory"), [("n1", range(8))])]
    for gpu_hours in (0, 5, 500):
        again = waits("w", a_job(gpus=8, tier="production"), attained_gpu_ms=gpu_hours * HOUR_MS)
        scenario = a_scenario(flat(1), running=running, waiting=[again], turn_ms=2 * HOUR_MS)
        assert evicted(scenario) == [("v", "w", "tier")]


def two_victims(*, policy: Policy | None = None, **fields: Any) -> Scenario:
    """Two nodes, each full; `fresh` saved itself a minute ago, `stale` half an hour ago."""
    spec = a_job(gpus=8, tier="exploratory", checkpoint=True)
    return a_scenario(
        flat(2),
        policy=policy,
        running=[
            runs("stale", spec, [("n1", range(8))], saved_hours_ago=0.5),
            runs("fresh", spec, [("n2", range(8))], saved_hours_ago=1 / 60),
        ],
        waiting=[waits("w", a_job(gpus=8))],
        **fields,
    )


def test_the_job_that_saved_itself_last_is_stopped_first() -> None:
    (eviction,) = planned(two_victims()).evictions
    assert (eviction.job, eviction.lost_gpu_ms) == ("fresh", 8 * MINUTE_MS)


def test_a_job_that_hides_its_checkpoints_costs_no_more_than_the_median() -> None:
    spec = a_job(gpus=8, tier="exploratory", checkpoint=True)
    scenario = a_scenario(
        flat(3),
        running=[
            runs("hides", a_job(gpus=8, tier="exploratory"), [("n1", range(8))], hours_ago=50),
            runs("old", spec, [("n2", range(8))], hours_ago=50, saved_hours_ago=3),
            runs("as-old", spec, [("n3", range(8))], hours_ago=50, saved_hours_ago=3),
        ],
        waiting=[waits("w", a_job(gpus=8))],
    )
    (eviction,) = planned(scenario).evictions
    assert (eviction.job, eviction.lost_gpu_ms) == ("hides", 8 * 50 * HOUR_MS)


def test_a_job_that_never_saved_itself_but_lost_little_costs_what_it_lost() -> None:
    spec = a_job(gpus=8, tier="exploratory", checkpoint=True)
    scenario = a_scenario(
        flat(2),
        running=[
            runs("saves", spec, [("n1", range(8))], saved_hours_ago=0.6),
            runs("young", a_job(gpus=8, tier="exploratory"), [("n2", range(8))], hours_ago=0.5),
        ],
        waiting=[waits("w", a_job(gpus=8))],
    )
    assert evicted(scenario) == [("young", "w", "tier")]


def test_a_restart_costs_more_the_more_gpus_restart() -> None:
    """Both saved themselves this moment: the smaller one is cheaper to start again."""
    scenario = a_scenario(
        flat(2),
        running=[
            runs("big", a_job(gpus=8, tier="exploratory", checkpoint=True), [("n1", range(8))], saved_hours_ago=0),
            runs("small", a_job(gpus=4, tier="exploratory", checkpoint=True), [("n2", range(4))], saved_hours_ago=0),
            runs("firm", a_job(gpus=4, preemptible=False), [("n2", range(4, 8))]),
        ],
        waiting=[waits("w", a_job(gpus=4))],
    )
    assert evicted(scenario) == [("small", "w", "tier")]


def test_victims_of_a_gang_are_found_inside_one_domain() -> None:
    """r1 and r2 have one cheap victim each, but only both victims of one rack make room for a gang within it."""
    spec = a_job(gpus=8, tier="exploratory", checkpoint=True)
    running = [
        runs(f"v-{node}", spec, [(node, range(8))], saved_hours_ago=saved)
        for node, saved in (("r1-n1", 0.01), ("r1-n2", 0.9), ("r2-n1", 0.01), ("r2-n2", 0.1))
    ]
    waiting = [waits("w", a_job(gpus=8, workers=2, within="rack"))]
    assert {job for job, _, _ in evicted(a_scenario(racks(2, 2), running=running, waiting=waiting))} == {
        "v-r2-n1",
        "v-r2-n2",
    }


def test_a_gang_of_shares_that_has_room_on_free_gpus_costs_the_least() -> None:
    """One more free GPU on the node makes one victim enough."""
    spec = a_job(gpus=2, tier="exploratory")
    running = [runs(f"v{at}", spec, [("n1", (2 * at, 2 * at + 1))]) for at in range(3)]
    scenario = a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=4, within="node"))])
    assert len(evicted(scenario)) == 1


def test_a_gang_of_several_roles_finds_victims_for_all_of_them() -> None:
    roles = (*a_job(gpus=4, workers=2).roles, *a_job("loader", gpus=0, cpus=8).roles)
    named = (roles[0], type(roles[1])(name="loader", workers_min=1, workers_max=1, request=roles[1].request))
    running = [runs("v", a_job(gpus=8, cpus=60, tier="exploratory"), [("n1", range(8))])]
    scenario = a_scenario(flat(1, cpus=64), running=running, waiting=[waits("w", a_job(roles=named))])
    assert evicted(scenario) == [("v", "w", "tier")]


def test_no_job_leaves_for_a_gang_that_would_still_not_fit() -> None:
    running = [
        runs("v", a_job(gpus=4, tier="exploratory"), [("n1", range(4))]),
        runs("firm", a_job(gpus=4, preemptible=False), [("n1", range(4, 8))]),
    ]
    for gpus, leave in ((8, []), (4, [("v", "w", "tier")])):
        assert evicted(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=gpus))])) == leave


def test_no_job_leaves_for_one_above_the_limit_of_its_team() -> None:
    running = [
        runs("own", a_job(gpus=4, team="a", preemptible=False), [("n1", range(4))]),
        runs("v", a_job(gpus=4, tier="exploratory", team="b"), [("n1", range(4, 8))]),
    ]
    waiting = [waits("w", a_job(gpus=4, team="a"))]
    for limit, leave in ((7, []), (8, [("v", "w", "tier")])):
        teams = [a_team("a", limit={"*": limit})]
        assert evicted(a_scenario(flat(1), teams=teams, running=running, waiting=waiting)) == leave


@pytest.mark.parametrize(("recent", "leaves"), [(1, True), (2, False)])
def test_a_team_loses_no_more_jobs_an_hour_than_the_policy_allows(recent: int, leaves: bool) -> None:
    policy = Policy(preemptions_per_team_hour=2)
    running = [runs("v", a_job(gpus=8, tier="exploratory", team="a"), [("n1", range(8))])]
    scenario = a_scenario(
        flat(1),
        policy=policy,
        running=running,
        waiting=[waits("w", a_job(gpus=8, team="b"))],
        recent_preemptions=((a_team("a").path, recent),),
    )
    assert bool(evicted(scenario)) is leaves


def test_victims_of_one_cycle_count_against_the_rate_limit_as_well() -> None:
    running = [runs(f"v{at}", a_job(gpus=8, tier="exploratory", team="a"), [(f"n{at}", range(8))]) for at in (1, 2)]
    scenario = a_scenario(
        flat(2),
        policy=Policy(preemptions_per_team_hour=1),
        running=running,
        waiting=[waits(f"w{at}", a_job(gpus=8, team="b")) for at in (1, 2)],
    )
    assert len(evicted(scenario)) == 1


def test_a_gang_that_needs_more_victims_than_the_rate_limit_allows_takes_none() -> None:
    running = [runs(f"v{at}", a_job(gpus=8, tier="exploratory", team="a"), [(f"n{at}", range(8))]) for at in (1, 2)]
    for allowed, taken in ((1, 0), (2, 2)):
        scenario = a_scenario(
            flat(2),
            policy=Policy(preemptions_per_team_hour=allowed),
            running=running,
            waiting=[waits("w", a_job(gpus=8, workers=2, team="b"))],
        )
        assert len(evicted(scenario)) == taken


@pytest.mark.parametrize("cheap", [(1,), (3,), (1, 1, 1)])
def test_cheap_victims_that_free_too_little_do_not_use_up_what_the_rate_limit_allows(cheap: tuple[int, ...]) -> None:
    spec, ends = a_job(gpus=5, tier="exploratory", team="a"), [5 + sum(cheap[:at]) for at in range(len(cheap) + 1)]
    small = [
        runs(f"small{at}", evolve(spec, roles=a_job(gpus=gpus).roles), [("n1", range(ends[at], ends[at] + gpus))])
        for at, gpus in enumerate(cheap)
    ]
    scenario = a_scenario(
        flat(1),
        policy=Policy(preemptions_per_team_hour=1),
        running=[runs("large", spec, [("n1", range(5))], hours_ago=9), *small],
        waiting=[waits("w", a_job(gpus=8 - sum(cheap), team="b"))],
    )
    assert evicted(scenario) == [("large", "w", "tier")]


def test_only_so_many_preemptors_ask_in_one_cycle() -> None:
    count = PREEMPTORS_MAX + 3
    scenario = a_scenario(
        flat(count),
        running=[
            runs(f"v{at}", a_job(gpus=8, tier="exploratory"), [(f"n{at}", range(8))]) for at in range(1, count + 1)
        ],
        waiting=[waits(f"w{at:02}", a_job(gpus=8, name=f"w{at}"), hours_ago=2) for at in range(count)],
    )
    assert len({preemptor for _, preemptor, _ in evicted(scenario)}) == PREEMPTORS_MAX


def test_the_cycle_comes_back_soon_for_preemptors_that_were_passed_over() -> None:
    """The urgent tier uses the bound up; the next tier, with no promises to make, is not even handed out."""
    count = PREEMPTORS_MAX + 3
    running = [runs(f"v{at}", a_job(gpus=8, tier="exploratory"), [(f"n{at}", range(8))]) for at in range(1, count + 1)]
    tiers = ["production"] * PREEMPTORS_MAX + ["standard"] * 3
    waiting = [waits(f"w{at:02}", a_job(gpus=8, tier=tier)) for at, tier in enumerate(tiers)]
    scenario = a_scenario(flat(count), running=running, waiting=waiting, policy=Policy(hold_depth=0))
    assert planned(scenario).wake_ms == NOW_MS + NEXT_CYCLE_MS


def elastic(job_id: str, node: str, size: int, *, low: int = 1, high: int = 4, **fields: Any) -> Any:
    spec = a_job(gpus=2, workers=(low, high), **fields)
    return runs(job_id, spec, [(node, (2 * at, 2 * at + 1)) for at in range(size)])


def test_an_elastic_job_shrinks_before_any_job_is_stopped() -> None:
    running = [elastic("e", "n1", 4), runs("v", a_job(gpus=8, tier="exploratory"), [("n2", range(8))])]
    scenario = a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=4))])
    assert evicted(scenario) == []
    assert resized(scenario) == [("e", 4, 2, "w")]


def test_an_elastic_job_gives_up_no_more_than_is_needed_and_never_its_minimum() -> None:
    scenario = a_scenario(flat(1), running=[elastic("e", "n1", 4, low=3)], waiting=[waits("w", a_job(gpus=2))])
    assert resized(scenario) == [("e", 4, 3, "w")]
    scenario = a_scenario(flat(1), running=[elastic("e", "n1", 4, low=3)], waiting=[waits("w", a_job(gpus=4))])
    assert resized(scenario) == []


def test_a_job_that_shrinks_keeps_ranks_without_gaps() -> None:
    scenario = a_scenario(flat(1), running=[elastic("e", "n1", 4)], waiting=[waits("w", a_job(gpus=4))])
    (resize,) = planned(scenario).resizes
    assert [worker.rank for worker in resize.workers] == [0, 1]


def test_the_gang_that_a_job_shrinks_for_is_promised_what_it_gives_up() -> None:
    scenario = a_scenario(flat(1), running=[elastic("e", "n1", 4)], waiting=[waits("w", a_job(gpus=4))])
    assert promised(scenario) == {"w": (Policy().stop_grace_ms, ("n1",))}


def test_a_policy_without_elasticity_shrinks_no_job() -> None:
    running, waiting = [elastic("e", "n1", 4)], [waits("w", a_job(gpus=4))]
    for is_elastic, shrink in ((False, []), (True, [("e", 4, 2, "w")])):
        policy = Policy(elastic=is_elastic)
        assert resized(a_scenario(flat(1), policy=policy, running=running, waiting=waiting)) == shrink


def test_an_elastic_job_that_cannot_give_up_enough_workers_is_stopped_whole() -> None:
    running = [elastic("e", "n1", 4, low=2, tier="exploratory")]
    scenario = a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=8))])
    assert evicted(scenario) == [("e", "w", "tier")]
    assert resized(scenario) == []


def test_a_job_shrinks_before_the_one_victim_that_the_rate_limit_allows_is_chosen() -> None:
    scenario = a_scenario(
        flat(1),
        policy=Policy(preemptions_per_team_hour=1),
        running=[
            runs("e", a_job(gpus=2, workers=(1, 2)), [("n1", (0, 1)), ("n1", (2, 3))]),
            runs("small", a_job(gpus=1, tier="exploratory", team="a"), [("n1", (4,))]),
            runs("large", a_job(gpus=3, tier="exploratory", team="a"), [("n1", (5, 6, 7))], hours_ago=9),
        ],
        waiting=[waits("w", a_job(gpus=5, team="b"))],
    )
    assert evicted(scenario) == [("large", "w", "tier")]
    assert [resize.job for resize in planned(scenario).resizes] == ["e"]


def test_two_gangs_may_be_served_by_shrinking_one_job_and_stopping_another() -> None:
    running = [elastic("e", "n1", 4), runs("v", a_job(gpus=8, tier="exploratory"), [("n2", range(8))])]
    waiting = [waits("w1", a_job(gpus=6, priority=90)), waits("w2", a_job(gpus=8, priority=10))]
    scenario = a_scenario(flat(2), running=running, waiting=waiting)
    assert resized(scenario) == [("e", 4, 1, "w1")]
    assert evicted(scenario) == [("v", "w2", "tier")]


def test_a_victim_that_a_later_victim_makes_superfluous_may_stay() -> None:
    """w1 finds the small victim on n2; w2 needs all of n1, which then has room for both."""
    spec = a_job(gpus=4, tier="exploratory", checkpoint=True)
    running = [
        runs("small", spec, [("n2", range(4))], saved_hours_ago=0.01),
        runs("firm", a_job(gpus=4, preemptible=False), [("n2", range(4, 8))]),
        runs("large", evolve(spec, roles=a_job(gpus=12).roles), [("n1", range(12))], saved_hours_ago=0.9),
    ]
    cluster = flat(1, gpus=12)
    cluster = type(cluster)(nodes=(*cluster.nodes, flat(2).nodes[1]))
    waiting = [waits("w1", a_job(gpus=4, priority=90)), waits("w2", a_job(gpus=8, within="node", priority=10))]
    assert evicted(a_scenario(cluster, running=running, waiting=waiting)) == [("large", "w2", "tier")]


def test_a_role_that_has_room_does_not_hide_the_victims_that_another_role_needs() -> None:
    """The trainer fits on the free h100; only the helper, which wants an a100, needs a victim."""
    cluster = a_cluster(a_node("n1"), a_node("n2", gpu_type="a100"))
    roles = tuple(
        evolve(a_job(gpus=8, gpu_type=kind).roles[0], name=name)
        for name, kind in (("trainer", "h100"), ("helper", "a100"))
    )
    running = [runs("v", a_job(gpus=8, tier="exploratory"), [("n2", range(8))])]
    assert evicted(a_scenario(cluster, running=running, waiting=[waits("w", a_job(roles=roles))])) == [
        ("v", "w", "tier")
    ]


def test_a_job_that_a_later_victim_makes_superfluous_need_not_shrink() -> None:
    """w1 is served by shrinking; w2 then needs a victim whose place is large enough for both."""
    running = [
        elastic("e", "n1", 4, low=2),
        runs("v", a_job(gpus=8, tier="exploratory"), [("n2", range(8))]),
    ]
    waiting = [waits("w1", a_job(gpus=2, priority=90)), waits("w2", a_job(gpus=6, priority=10))]
    scenario = a_scenario(flat(2), running=running, waiting=waiting)
    assert evicted(scenario) == [("v", "w2", "tier")]
    assert resized(scenario) == []


def test_the_cycle_comes_back_when_the_rate_limit_allows_a_victim() -> None:
    scenario = a_scenario(
        flat(1),
        policy=Policy(preemptions_per_team_hour=1),
        running=[runs("v", a_job(gpus=8, tier="exploratory", team="a", hours=90), [("n1", range(8))])],
        waiting=[waits("w", a_job(gpus=8, team="b"))],
        recent_preemptions=((a_team("a").path, 1),),
    )
    assert planned(scenario).wake_ms == NOW_MS + HOUR_MS
