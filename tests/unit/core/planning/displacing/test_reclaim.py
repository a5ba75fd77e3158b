"""What a team lent, it takes back: from teams that borrow, and from no other."""

import pytest

from muster.checker import violations
from muster.model.ids import TierName
from muster.model.job import WaitingJob
from muster.model.plan import Basis
from muster.model.policy import HOUR_MS, MINUTE_MS, Tier
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.team import Team
from tests.builders import NOW_MS, a_job, a_promise, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import evicted, planned, started

PRODUCTION_GANG = a_job(gpus=4, team="stranger", tier="production")
ONE_TIER = (Tier(name=TierName("standard")),)
LENDING = [a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": 8})]


def borrowed(*, own_gpus: int = 8, teams: list[Team] | None = None, tier: str = "standard") -> Scenario:
    """Team b fills both nodes, half of that borrowed; team a wants its guarantee back."""
    return a_scenario(
        flat(2),
        teams=teams or LENDING,
        tiers=ONE_TIER,
        running=[runs(f"b{at}", a_job(gpus=8, team="b", tier=tier), [(f"n{at}", range(8))]) for at in (1, 2)],
        waiting=[waits("w", a_job(gpus=own_gpus, team="a", tier=tier))],
    )


def test_idle_guarantees_are_lent() -> None:
    waiting = [waits(f"b{at}", a_job(gpus=8, team="b")) for at in (1, 2)]
    assert len(started(a_scenario(flat(2), teams=LENDING, waiting=waiting))) == 2


def test_a_team_inside_its_guarantee_takes_borrowed_capacity_back() -> None:
    ((_, preemptor, why),) = evicted(borrowed())
    assert (preemptor, why) == ("w", "reclaim")


def test_a_team_that_would_borrow_itself_takes_nothing_back() -> None:
    teams = [a_team("a", guaranteed={"*": 4}), a_team("b", guaranteed={"*": 8})]
    assert evicted(borrowed(teams=teams)) == []
    assert len(evicted(borrowed(teams=teams, own_gpus=4))) == 1


def test_a_team_that_uses_only_its_guarantee_loses_nothing() -> None:
    for guaranteed, leave in ((16, 0), (15, 1)):
        teams = [a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": guaranteed})]
        assert len(evicted(borrowed(teams=teams))) == leave


def test_a_borrower_gives_back_no_more_than_it_borrowed() -> None:
    for guaranteed, leave in ((8, 0), (0, 2)):
        teams = [a_team("a", guaranteed={"*": 16}), a_team("b", guaranteed={"*": guaranteed})]
        scenario = a_scenario(
            flat(2),
            teams=teams,
            tiers=ONE_TIER,
            running=[runs(f"b{at}", a_job(gpus=8, team="b"), [(f"n{at}", range(8))]) for at in (1, 2)],
            waiting=[waits("w", a_job(gpus=8, workers=2, team="a"))],
        )
        assert len(evicted(scenario)) == leave


@pytest.mark.parametrize(("guaranteed", "leave"), [(4, ["small", "large"]), (5, ["small", "large"]), (6, [])])
def test_of_borrowers_that_have_to_leave_together_the_smallest_leaves_first(guaranteed: int, leave: list[str]) -> None:
    """After the large one, which is cheap, the team would not borrow any more, and the small one could stay."""
    scenario = a_scenario(
        flat(1),
        teams=[a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": guaranteed})],
        tiers=ONE_TIER,
        running=[
            runs("large", a_job(gpus=6, team="b"), [("n1", range(6))]),
            runs("small", a_job(gpus=2, team="b"), [("n1", (6, 7))], hours_ago=90),
        ],
        waiting=[waits("w", a_job(gpus=8, team="a"))],
    )
    assert [job for job, _, _ in evicted(scenario)] == leave
    assert not violations(scenario, planned(scenario))


def test_borrowers_leave_before_a_job_of_their_team_that_leaves_by_tier() -> None:
    """After the job that leaves by tier, which is cheap, the team would not borrow any more."""
    scenario = a_scenario(
        flat(1),
        teams=[a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": 6})],
        running=[
            runs("low", a_job(gpus=2, team="b", tier="exploratory"), [("n1", (0, 1))]),
            runs("equal", a_job(gpus=6, team="b"), [("n1", range(2, 8))], hours_ago=9),
        ],
        waiting=[waits("w", a_job(gpus=8, team="a"))],
    )
    assert evicted(scenario) == [("equal", "w", "reclaim"), ("low", "w", "tier")]
    assert not violations(scenario, planned(scenario))


def test_a_sub_team_takes_back_from_its_sibling() -> None:
    teams = [a_team("a", guaranteed={"*": 16}), a_team("a/x", guaranteed={"*": 8}), a_team("a/y", guaranteed={"*": 8})]
    scenario = a_scenario(
        flat(2),
        teams=teams,
        tiers=ONE_TIER,
        running=[runs(f"y{at}", a_job(gpus=8, team="a/y"), [(f"n{at}", range(8))]) for at in (1, 2)],
        waiting=[waits("w", a_job(gpus=8, team="a/x"))],
    )
    assert [why for _, _, why in evicted(scenario)] == ["reclaim"]


def test_a_higher_tier_inside_its_own_guarantee_loses_nothing() -> None:
    for guaranteed, leave in ((8, 0), (7, 1)):
        scenario = a_scenario(
            flat(1),
            teams=[a_team("a", guaranteed={"*": 8}), a_team("b", guaranteed={"*": guaranteed})],
            running=[runs("b1", a_job(gpus=8, team="b", tier="standard"), [("n1", range(8))])],
            waiting=[waits("w", a_job(gpus=8, team="a", tier="exploratory"))],
        )
        assert len(evicted(scenario)) == leave


TIERS = tuple(map(TierName, ("production", "standard", "exploratory")))
UNEQUAL = [a_team("small", guaranteed={"*": 2}, tiers=TIERS), a_team("large", guaranteed={"*": 6}, tiers=TIERS)]
"""Teams whose tiers are bound, as on every server with teams: there a guarantee comes before a tier."""


def seized(*waiting: WaitingJob) -> Scenario:
    """One team has taken all eight GPUs with jobs that could not be stopped, though it is guaranteed two."""
    job = a_job(team="small", tier="production", preemptible=False)
    running = [runs(f"s{gpu}", job, [("n1", [gpu])]) for gpu in range(8)]
    return a_scenario(flat(1), teams=UNEQUAL, running=running, waiting=waiting)


def claims(count: int, tier: str = "standard") -> list[WaitingJob]:
    return [waits(f"w{at}", a_job(team="large", tier=tier)) for at in range(count)]


@pytest.mark.parametrize("tier", ["production", "standard", "exploratory"])
def test_a_guarantee_comes_back_from_jobs_that_nothing_else_can_stop(tier: str) -> None:
    scenario = seized(*claims(8, tier))
    assert {why for _, _, why in evicted(scenario)} == {"reclaim"}
    assert len(evicted(scenario)) == 6, "the last two stay, inside the guarantee of their team"
    assert not violations(scenario, planned(scenario))


def test_a_protected_borrower_has_its_minimum_run_time() -> None:
    young = evolve(seized(*claims(1)), now_ms=NOW_MS - 55 * MINUTE_MS)
    assert evicted(young) == []
    assert len(evicted(evolve(young, now_ms=NOW_MS - 50 * MINUTE_MS))) == 1


def test_jobs_that_may_be_stopped_anyway_go_first_and_the_protected_from_the_lowest_tier_up() -> None:
    kinds = [("production", True), ("standard", False), ("exploratory", False), ("standard", True)]
    jobs = [a_job(team="small", tier=tier, preemptible=preemptible) for tier, preemptible in kinds]
    running = [runs(f"s{at}", job, [("n1", [at])]) for at, job in enumerate(jobs)]
    teams = [a_team("large", guaranteed={"*": 4})]
    order = []
    for count in range(1, 5):
        scenario = a_scenario(flat(1, gpus=4), teams=teams, running=running, waiting=claims(count, "standard"))
        order += [job for job, _, _ in evicted(scenario) if job not in order]
    assert order == ["s3", "s2", "s1", "s0"]


def test_two_protected_jobs_of_a_low_tier_go_before_one_of_a_higher_tier() -> None:
    low, high = (
        a_job(gpus=gpus, team="small", tier=tier, preemptible=False)
        for gpus, tier in ((1, "exploratory"), (2, "standard"))
    )
    scenario = a_scenario(
        flat(2, gpus=2),
        teams=[a_team("large", guaranteed={"*": 2})],
        running=[runs("l0", low, [("n1", [0])]), runs("l1", low, [("n1", [1])]), runs("h", high, [("n2", [0, 1])])],
        waiting=[waits("w", a_job(gpus=2, team="large"))],
    )
    assert [job for job, _, _ in evicted(scenario)] == ["l0", "l1"]


def test_a_team_that_borrows_stops_no_job_inside_a_guarantee_whatever_its_tier() -> None:
    running = [runs(f"l{gpu}", a_job(team="large", tier="exploratory"), [("n1", [gpu])]) for gpu in range(8)]
    attack = [waits(f"w{at}", a_job(team="small", tier="production", preemptible=False)) for at in range(8)]
    scenario = a_scenario(flat(1), teams=UNEQUAL, running=running, waiting=attack)
    assert len(evicted(scenario)) == 2, "what the small team is guaranteed, which the large one borrows"
    assert not violations(scenario, planned(scenario))
    stranger = a_scenario(flat(1), teams=UNEQUAL, running=running[:6], waiting=[waits("w", PRODUCTION_GANG)])
    assert evicted(stranger) == []


def test_where_tiers_are_bound_to_no_team_a_tier_comes_before_a_guarantee() -> None:
    running = [runs(f"l{gpu}", a_job(team="large", tier="exploratory"), [("n1", [gpu])]) for gpu in range(8)]
    unbound = [evolve(team, tiers=None) for team in UNEQUAL]
    gang = waits("w", a_job(team="small", tier="production", gpus=8))
    scenario = a_scenario(flat(1), teams=unbound, running=running, waiting=[gang])
    assert [why for _, _, why in evicted(scenario)] == ["tier"] * 8
    assert not violations(scenario, planned(scenario))
    assert evicted(evolve(scenario, teams=tuple(UNEQUAL))) == []


def test_a_job_whose_turn_is_over_does_not_leave_its_guarantee_to_a_team_that_borrows() -> None:
    spec = a_job(team="large", checkpoint=True)
    running = [runs(f"l{gpu}", spec, [("n1", [gpu])], hours_ago=9, saved_hours_ago=0) for gpu in range(8)]
    teams = [a_team("large", guaranteed={"*": 8}, tiers=TIERS)]
    fresh = [waits("w", a_job(team="small"))]
    scenario = a_scenario(flat(1), teams=teams, running=running, waiting=fresh, turn_ms=HOUR_MS)
    assert evicted(scenario) == []
    assert [why for _, _, why in evicted(evolve(scenario, teams=()))] == ["turn"]


def test_a_place_for_which_a_borrower_left_is_not_taken_by_it_again_because_of_an_older_promise() -> None:
    """The older promise would use up the guarantee as well, but nobody has left for it."""
    mine = [waits(f"w{number}", a_job(gpus=4, team="large")) for number in (0, 1)]
    borrower = waits("b", a_job(workers=2, gpus=4, team="small", tier="production", hours=4), requeued=True)
    scenario = a_scenario(
        flat(2, gpus=4),
        teams=[a_team("large", guaranteed={"*": 4}), a_team("small", guaranteed={"*": 4})],
        waiting=[*mine, borrower],
        promises=[
            a_promise("w0", [("n1", range(4))], in_hours=6, made_ms=NOW_MS - 2 * HOUR_MS),
            a_promise("w1", [("n2", range(4))], in_hours=0, basis=Basis.DEPARTURES),
        ],
    )
    assert "w1" in {start.job for start in planned(scenario).starts}


def test_a_job_that_was_preempted_takes_back_the_guarantee_of_its_team_where_guarantees_come_before_tiers() -> None:
    for is_bound in (True, False):
        teams = [a_team("large", guaranteed={"*": 8}, tiers=TIERS if is_bound else None)]
        for tier in ("exploratory", "production"):
            running = [runs("b", a_job(gpus=8, team="small", tier=tier), [("n1", range(8))])]
            back = waits("back", a_job(gpus=8, team="large"), requeued=True, attained_gpu_ms=9 * HOUR_MS)
            scenario = a_scenario(flat(1), teams=teams, running=running, waiting=[back])
            assert [why for _, _, why in evicted(scenario)] == (["reclaim"] if is_bound else [])


def test_a_promise_inside_a_guarantee_stands_before_a_higher_tier_that_would_borrow() -> None:
    running = [runs(f"s{gpu}", a_job(team="small", hours=2, tier="production"), [("n1", [gpu])]) for gpu in range(8)]
    young = [evolve(job, started_ms=NOW_MS - MINUTE_MS) for job in running]
    scenario = a_scenario(flat(1), teams=UNEQUAL, running=young, waiting=claims(1))
    (promise,) = planned(scenario).promises
    attack = [waits(f"a{at}", a_job(team="small", tier="production")) for at in range(3)]
    ended = evolve(
        scenario, promises=(promise,), running=tuple(young[1:]), waiting=(*scenario.waiting, *attack), now_ms=NOW_MS + 1
    )
    assert started(ended) == ["w0"]
