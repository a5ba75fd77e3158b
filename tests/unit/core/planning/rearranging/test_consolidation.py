"""Moving jobs that can resume, when nothing but fragmentation keeps a gang from starting and the move pays."""

from typing import Any

from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import RunningJob
from muster.model.plan import Promise
from muster.model.policy import MINUTE_MS, Policy
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, flat, runs, waits
from tests.unit.core.outcomes import evicted, planned, promised


def half(
    job_id: str, node: str, *, hours: float = 100, saved_hours_ago: float | None = 0.01, **fields: Any
) -> RunningJob:
    """A job on half of a node that can resume."""
    spec = a_job(gpus=4, checkpoint=fields.pop("checkpoint", True), hours=hours, **fields)
    return runs(job_id, spec, [(node, range(4))], saved_hours_ago=saved_hours_ago)


def fragmented(nodes: int = 3, *, policy: Policy | None = None, **fields: Any) -> Scenario:
    """Every node half full; a gang that wants a whole one."""
    running = [half(f"h{at}", f"n{at}", **fields) for at in range(1, nodes + 1)]
    return a_scenario(flat(nodes), policy=policy, running=running, waiting=[waits("w", a_job(gpus=8))])


def test_a_job_moves_so_that_a_gang_blocked_by_fragmentation_alone_can_start() -> None:
    made = planned(fragmented())
    ((moved, gang, why),) = evicted(fragmented())
    assert (gang, why) == ("w", "consolidation")
    promises: dict[str, Promise] = {promise.job: promise for promise in made.promises}
    assert promises["w"].start_ms == promises[moved].start_ms == NOW_MS + 120_000
    assert promises["w"].nodes != promises[moved].nodes


def test_two_half_full_nodes_are_made_one_full_and_one_empty() -> None:
    assert [why for _, _, why in evicted(fragmented(2))] == ["consolidation"]


def test_no_job_moves_when_too_few_gpus_are_free_anyway() -> None:
    full = runs("full", a_job(gpus=8, hours=100), [("n2", range(8))])
    for other, moves in ((full, 0), (half("h2", "n2"), 1)):
        running = [half("h1", "n1"), other]
        assert len(evicted(a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=8))]))) == moves


def test_the_policy_may_forbid_it() -> None:
    for is_allowed in (False, True):
        assert bool(evicted(fragmented(policy=Policy(consolidation=is_allowed)))) is is_allowed


def test_a_job_that_cannot_resume_or_never_saved_itself_does_not_move() -> None:
    assert evicted(fragmented(checkpoint=False, saved_hours_ago=None)) == []
    assert evicted(fragmented(saved_hours_ago=None)) == []
    assert len(evicted(fragmented())) == 1


def test_a_move_must_gain_more_than_it_costs() -> None:
    """It starts in 2 minutes instead of 8: 48 GPU-minutes gained, 4 times 5 spent, and twice that is asked for."""
    soon = 1 + 8 / 60
    policy = Policy(consolidation_gain_milli=2000, restart_cost_ms=5 * MINUTE_MS)
    assert len(evicted(fragmented(hours=soon, saved_hours_ago=0, policy=policy))) == 1
    dearer = Policy(consolidation_gain_milli=3000, restart_cost_ms=5 * MINUTE_MS)
    assert evicted(fragmented(hours=soon, saved_hours_ago=0, policy=dearer)) == []


def test_what_was_not_saved_counts_as_cost() -> None:
    soon = 1 + 8 / 60
    assert evicted(fragmented(hours=soon, saved_hours_ago=0.9)) == []
    assert len(evicted(fragmented(hours=soon, saved_hours_ago=0))) == 1


def test_a_move_never_makes_the_gang_start_later() -> None:
    """All jobs are gone in 6 minutes; one that is told to leave may take half an hour to save itself."""
    scenario = fragmented(4, hours=1.1, saved_hours_ago=0, grace_ms=30 * MINUTE_MS, policy=Policy(restart_cost_ms=1000))
    assert promised(scenario)["w"][0] <= 6 * MINUTE_MS


def test_a_promise_of_an_earlier_cycle_is_not_moved_later_by_a_move() -> None:
    scenario = fragmented(4, hours=1.1, saved_hours_ago=0, grace_ms=30 * MINUTE_MS, policy=Policy(restart_cost_ms=1000))
    mine = a_promise("w", [("n1", range(8))], in_hours=0.1)
    before = a_scenario(
        scenario.cluster, running=scenario.running, waiting=scenario.waiting, policy=scenario.policy, promises=[mine]
    )
    assert promised(before)["w"][0] <= 6 * MINUTE_MS


def test_no_job_moves_for_a_team_at_its_limit() -> None:
    scenario = fragmented()
    for limit, moves in ((19, 0), (20, 1)):
        teams = [a_team("default", limit={"*": limit})]
        limited = a_scenario(scenario.cluster, teams=teams, running=scenario.running, waiting=scenario.waiting)
        assert len(evicted(limited)) == moves


def test_a_job_moves_as_soon_as_its_team_is_no_longer_over_its_limit() -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2"), a_node("n3"), a_node("n4", gpu_type="a100"))
    ends_first = runs("ends first", a_job(gpus=8, hours=50), [("n1", range(8))])
    other = runs("other", a_job(gpus=8, team="x"), [("n4", range(8))])
    running = [ends_first, half("h2", "n2", team="x"), half("h3", "n3", team="x"), other]
    waiting = [waits("w", a_job(gpus=8, gpu_type="h100"))]
    teams = [a_team("x", limit={"*": 8})]
    snapshot = Snapshot.of(a_scenario(cluster, running=running, waiting=waiting, teams=teams))
    assert plan(snapshot, NOW_MS).evictions == ()
    snapshot.finish(JobId("other"))
    assert len(plan(snapshot, NOW_MS).evictions) == 1


def test_no_job_of_a_higher_tier_moves() -> None:
    running = [half(f"h{at}", f"n{at}") for at in (1, 2, 3)]
    for tier, moves in (("exploratory", 0), ("standard", 1)):
        waiting = [waits("w", a_job(gpus=8, tier=tier))]
        assert len(evicted(a_scenario(flat(3), running=running, waiting=waiting))) == moves


def test_a_job_that_would_find_no_new_place_does_not_move() -> None:
    """The free GPUs are enough together, but a job of six has nowhere to go; one of four has."""
    for gpus, moves in ((6, 0), (4, 1)):
        spec = a_job(gpus=gpus, checkpoint=True, hours=100)
        running = [runs(f"h{at}", spec, [(f"n{at}", range(gpus))], saved_hours_ago=0.01) for at in range(1, 6)]
        assert len(evicted(a_scenario(flat(5), running=running, waiting=[waits("w", a_job(gpus=8))]))) == moves


def test_one_gang_is_made_room_for_at_a_time() -> None:
    running = [half(f"h{at}", f"n{at}") for at in range(1, 7)]
    waiting = [waits(f"w{at}", a_job(gpus=8)) for at in (1, 2)]
    assert len({gang for _, gang, _ in evicted(a_scenario(flat(6), running=running, waiting=waiting))}) == 1
