"""No job leaves in vain: victims that turn out not to be needed may stay, whichever job asked for them and why."""

from typing import Any

from muster.checker import violations
from muster.core.planning import plan
from muster.model.ids import GpuType
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, runs, waits
from tests.unit.core.outcomes import evicted, planned, promised, resized, with_dues

CLUSTER = a_cluster(a_node("n1", gpus=12), a_node("n2", gpus=8))
FIRM = runs("firm", a_job(gpus=4, preemptible=False), [("n2", range(4, 8))])


def two_preemptors(tier: str, *, hours: tuple[float, float], **fields: Any) -> Scenario:
    """The first to ask finds the small job on n2; the second needs n1, which then has room for both."""
    small, large = a_job(gpus=4, tier=tier, checkpoint=True), a_job(gpus=12, tier=tier, checkpoint=True)
    first = fields.pop("first", a_job(gpus=4, priority=90))
    return a_scenario(
        CLUSTER,
        running=[
            runs("small", small, [("n2", range(4))], hours_ago=hours[0], saved_hours_ago=0.01),
            runs("large", large, [("n1", range(12))], hours_ago=hours[1], saved_hours_ago=0.9),
            FIRM,
        ],
        waiting=[waits("w1", first), waits("w2", a_job(gpus=8, within="node", priority=10))],
        **fields,
    )


def test_a_job_whose_turn_is_over_stays_when_a_later_victim_makes_room_for_both() -> None:
    scenario = two_preemptors("standard", hours=(50, 5), turn_ms=2 * HOUR_MS)
    assert evicted(scenario) == [("large", "w2", "turn")]
    assert {job: nodes for job, (_, nodes) in promised(scenario).items()} == {"w1": ("n1",), "w2": ("n1",)}
    assert not violations(scenario, planned(scenario))


def test_a_limit_that_a_promise_uses_up_does_not_keep_it_where_it_is() -> None:
    first = a_job(gpus=4, priority=90, team="a")
    scenario = two_preemptors("exploratory", hours=(1, 1), first=first, teams=[a_team("a", limit={"*": 4})])
    assert evicted(scenario) == [("large", "w2", "tier")]
    assert not violations(scenario, planned(scenario))


def test_a_gang_that_accepts_other_gpus_takes_those_that_cost_no_job_its_place() -> None:
    """One role could have its GPU from the second victim, or the free one of another type."""
    trainer = evolve(a_job(gpus=4, gpu_type="a100").roles[0], name="trainer")
    loader = evolve(a_job(gpus=1, gpu_type=("a100", "h100")).roles[0], name="loader")
    scenario = a_scenario(
        a_cluster(a_node("n1", gpus=5, gpu_type="a100"), a_node("n2", gpus=1)),
        running=[
            runs("v1", a_job(gpus=4, tier="exploratory"), [("n1", range(4))]),
            runs("v2", a_job(gpus=1, tier="exploratory"), [("n1", (4,))]),
        ],
        waiting=[waits("w", a_job(roles=(trainer, loader)))],
    )
    assert evicted(scenario) == [("v1", "w", "tier")]
    assert not violations(scenario, planned(scenario))


def test_an_elastic_job_keeps_the_workers_that_need_not_go() -> None:
    """It gives up two for the first gang, one of which fits beside the second gang on the place of its victim."""
    spec = a_job(gpus=2, workers=(2, 4))
    scenario = a_scenario(
        a_cluster(a_node("n1"), a_node("n2")),
        running=[
            runs("e", spec, [("n1", (2 * at, 2 * at + 1)) for at in range(4)]),
            runs("v", a_job(gpus=8, tier="exploratory"), [("n2", range(8))]),
        ],
        waiting=[
            waits("w1", a_job(gpus=2, workers=2, priority=90)),
            waits("w2", a_job(gpus=6, priority=10)),
        ],
    )
    assert evicted(scenario) == [("v", "w2", "tier")]
    assert resized(scenario) == [("e", 4, 3, "w1")]
    assert not violations(scenario, planned(scenario))


def test_a_preemptor_is_seated_on_slower_gpus_if_that_prunes_a_victim() -> None:
    cluster = a_cluster(a_node("f", gpu_type="h100", gpus=4), a_node("s", gpu_type="k80", gpus=8))
    running = [
        runs("a", a_job(gpus=4, checkpoint=True), [("f", range(4))], hours_ago=5, saved_hours_ago=1),
        runs("b", a_job(gpus=8, checkpoint=True), [("s", range(8))], hours_ago=5, saved_hours_ago=0),
    ]
    waiting = [
        waits("p1", a_job(gpus=4, tier="production"), hours_ago=2),
        waits("p2", a_job(gpus=4, gpu_type="k80", tier="production")),
    ]
    policy = Policy(throughput=((GpuType("k80"), 250),))
    assert evicted(a_scenario(cluster, running=running, waiting=waiting, policy=policy)) == [("b", "p2", "tier")]


def test_a_running_job_that_moves_keeps_its_new_place_while_victims_are_pruned() -> None:
    """Its promise is made in the same cycle, beside those of preemptors, and cannot be made again: it does not wait."""
    fast = [a_node("a", gpu_type="h100", gpus=8), a_node("b", gpu_type="h100", gpus=12)]
    cluster = a_cluster(*fast, a_node("s", gpu_type="k80", gpus=4))
    low: dict[str, Any] = {"tier": "exploratory", "checkpoint": True}
    high: dict[str, Any] = {"tier": "production", "gpu_type": "h100", "team": "c"}
    since_ms = NOW_MS - 3 * HOUR_MS
    small, large, two = a_job(gpus=4, team="b", **low), a_job(gpus=12, team="b", **low), a_job(gpus=2, team="a", **low)
    running = [
        runs("v1", small, [("a", range(4))], hours_ago=3, saved_hours_ago=0.1, submitted_ms=since_ms),
        runs("v2", large, [("b", range(12))], hours_ago=3, saved_hours_ago=2, submitted_ms=since_ms),
        runs("late", two, [("s", range(2))], hours_ago=5, saved_hours_ago=0, submitted_ms=NOW_MS - 30 * HOUR_MS),
    ]
    waiting = [
        waits("p1", a_job(gpus=6, **high), hours_ago=2),
        waits("p2", a_job(gpus=6, **high), hours_ago=1),
        waits("back", a_job(gpus=1, team="b", **low), requeued=True, attained_gpu_ms=HOUR_MS),
    ]
    teams = (a_team("a"), a_team("b"), a_team("c"))
    policy = Policy(throughput=((GpuType("k80"), 200),))
    scenario = a_scenario(cluster, running=running, waiting=waiting, policy=policy, teams=teams)
    made = plan(with_dues(scenario), NOW_MS)
    assert {promise.job for promise in made.promises} == {"p1", "p2", "late"}
    assert violations(scenario, made) == ()
