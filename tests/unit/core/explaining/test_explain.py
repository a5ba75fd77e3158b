"""Why jobs wait: every reason appears when it should and not otherwise."""

from typing import Any

import pytest

from muster.core.explaining.explain import explain, explain_all
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, PoolName, TierName
from muster.model.job import RunningJob
from muster.model.policy import HOUR_MS, Policy, Pool
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.scenario import Scenario
from muster.model.spec import RoleSpec
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, flat, racks, runs, waits
from tests.unit.core.outcomes import codes, explained

NO_PROMISES = Policy(hold_depth=0)
RESERVED = [Pool(name=PoolName("main")), Pool(name=PoolName("urgent"), tiers=(TierName("production"),))]
TWO_POOLS = a_cluster(a_node("n1", pool="main"), a_node("n2", pool="urgent"))


def busy(node: str = "n1", gpus: int = 8, *, job_id: str = "r", hours: float = 5, **fields: Any) -> RunningJob:
    """A job that stays."""
    spec = a_job(gpus=gpus, hours=hours, preemptible=False, **fields)
    return runs(job_id, spec, [(node, range(gpus))])


def message(scenario: Scenario, job: str = "w", at: int = 0) -> str:
    return explained(scenario)[job].reasons[at].message


def test_a_job_that_starts_is_not_explained() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w")])
    assert explained(scenario) == {}
    assert list(explained(evolve(scenario, running=(busy("n1", 8),)))) == ["w"]
    snapshot = Snapshot.of(scenario)
    assert explain(JobId("w"), snapshot, plan(snapshot, NOW_MS), NOW_MS) is None


def test_one_job_is_explained_as_all_are() -> None:
    snapshot = Snapshot.of(a_scenario(flat(1), running=[busy()], waiting=[waits("w", a_job(gpus=2))]))
    one = explain(JobId("w"), snapshot, plan(snapshot, NOW_MS), NOW_MS)
    assert one is not None
    assert (one.job, one.position, [reason.code for reason in one.reasons]) == ("w", 1, ["capacity"])


@pytest.mark.parametrize("policy", [Policy(), NO_PROMISES])
def test_capacity_when_too_few_gpus_are_free(policy: Policy) -> None:
    scenario = a_scenario(flat(1), policy=policy, running=[busy(gpus=6)], waiting=[waits("w", a_job(gpus=4))])
    assert codes(scenario) == ["capacity"]
    assert message(scenario) == "needs 4 h100, 2 are free"


def test_capacity_says_how_many_of_the_free_are_promised() -> None:
    waiting = [waits("first", a_job(gpus=8, priority=90)), waits("w", a_job(gpus=6, priority=1))]
    scenario = a_scenario(flat(1), policy=Policy(hold_depth=1), running=[busy(gpus=4)], waiting=waiting)
    assert message(scenario) == "needs 6 h100, 4 are free and 4 of these promised to others"


def test_capacity_of_cpus_memory_or_disk_when_no_gpus_are_asked_for() -> None:
    running = [runs("r", a_job(gpus=0, cpus=8, preemptible=False), [("n1", ())])]
    scenario = a_scenario(flat(1, cpus=8), running=running, waiting=[waits("w", a_job(gpus=0, cpus=8))])
    assert codes(scenario) == ["capacity"]
    assert "CPUs" in message(scenario)


def test_fragmented_when_enough_gpus_are_free_but_not_together() -> None:
    running = [busy(f"n{at}", 4, job_id=f"r{at}") for at in (1, 2)]
    assert codes(a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=8))])) == ["fragmented"]


def test_fragmented_when_the_gpus_are_there_without_the_cpus() -> None:
    running = [busy("n1", 1, cpus=8)]
    assert codes(a_scenario(flat(1, cpus=8), running=running, waiting=[waits("w", a_job(cpus=4))])) == ["fragmented"]


def limited(**fields: Any) -> Scenario:
    return a_scenario(
        flat(2),
        teams=[a_team("a", limit={"*": 10})],
        running=[busy(gpus=8, team="a")],
        waiting=[waits("w", a_job(gpus=4, team="a"))],
        **fields,
    )


def test_quota_limit_when_the_team_may_use_no_more() -> None:
    assert codes(limited()) == ["quota_limit"]
    assert message(limited()) == "team a uses 8 of at most 10 GPUs; this job needs 4"
    assert explained(limited())["w"].reasons[0].would_help.startswith("2 GPUs")


def test_quota_limit_of_an_ancestor_and_of_one_type() -> None:
    scenario = a_scenario(
        flat(2),
        teams=[a_team("a", limit={"h100": 8})],
        running=[busy(gpus=8, team="a/y")],
        waiting=[waits("w", a_job(gpus=4, team="a/x"))],
    )
    assert codes(scenario) == ["quota_limit"]
    assert message(scenario) == "team a uses 8 of at most 8 h100 GPUs; this job needs 4"


def test_quota_limit_and_capacity_are_told_at_once() -> None:
    scenario = a_scenario(
        flat(1),
        teams=[a_team("a", limit={"*": 8})],
        running=[busy(team="a")],
        waiting=[waits("w", a_job(gpus=4, team="a"))],
    )
    assert codes(scenario) == ["quota_limit", "capacity"]


def test_no_quota_limit_while_another_accepted_type_is_within_its_limit() -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2", gpu_type="a100"))
    running = [busy("n1", 4, team="a"), busy("n2", 8, job_id="r2")]
    for accepted, is_limited in ((("h100", "a100"), False), (("h100",), True)):
        scenario = a_scenario(
            cluster,
            teams=[a_team("a", limit={"h100": 4})],
            running=running,
            waiting=[waits("w", a_job(gpus=4, team="a", gpu_type=accepted))],
        )
        assert ("quota_limit" in codes(scenario)) is is_limited


def borrower(guaranteed: int) -> Scenario:
    return a_scenario(
        flat(1),
        teams=[a_team("a", guaranteed={"*": guaranteed}), a_team("b", guaranteed={"*": 4})],
        running=[busy(gpus=4, team="a"), runs("r2", a_job(gpus=4, team="b", preemptible=False), [("n1", range(4, 8))])],
        waiting=[waits("w", a_job(gpus=4, team="a"))],
    )


def test_quota_borrow_when_the_team_has_used_up_its_guarantee() -> None:
    assert codes(borrower(4)) == ["quota_borrow", "capacity"]


def test_no_quota_borrow_inside_the_guarantee() -> None:
    assert codes(borrower(8)) == ["capacity"]


def test_topology_when_it_would_fit_across_the_cluster() -> None:
    scenario = a_scenario(
        racks(2, 2),
        running=[busy("r1-n1"), busy("r2-n1", job_id="r2")],
        waiting=[waits("w", a_job(gpus=8, workers=2, within="rack"))],
    )
    assert codes(scenario) == ["topology"]
    assert explained(scenario)["w"].reasons[0].would_help == "dropping `within: rack`"


def test_topology_while_a_preference_is_waited_for() -> None:
    prefers = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=2 * HOUR_MS)
    scenario = a_scenario(
        racks(2, 2), running=[busy("r1-n1"), busy("r2-n1", job_id="r2")], waiting=[waits("w", prefers)]
    )
    assert codes(scenario) == ["topology"]


def test_a_preference_that_no_domain_can_fulfil_is_not_called_impossible() -> None:
    """It starts in an hour, when the preference relaxes."""
    prefers = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=2 * HOUR_MS)
    assert codes(a_scenario(racks(2, 1), waiting=[waits("w", prefers, hours_ago=1)])) == ["topology"]


def test_topology_when_tensor_groups_find_no_node() -> None:
    running = [busy(f"n{at}", 6, job_id=f"r{at}") for at in (1, 2)]
    scenario = a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=1, workers=4, tensor=4))])
    assert codes(scenario) == ["topology"]
    assert message(scenario) == "its tensor-parallel groups of 4 GPUs find no node with enough room"


def test_no_topology_when_it_would_not_fit_anywhere() -> None:
    running = [busy("r1-n1"), busy("r2-n1", job_id="r2")]
    spec = a_job(gpus=8, workers=2, within="rack")
    cluster = a_cluster(*racks(2, 1).nodes, a_node("r1-n2", domains=("r1",)), levels=("rack",))
    assert codes(a_scenario(cluster, running=running, waiting=[waits("w", spec)])) == ["capacity"]


def test_gpu_type_when_another_type_has_room() -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2", gpu_type="a100"))
    spec = a_job(gpus=8, gpu_type="h100")
    assert codes(a_scenario(cluster, running=[busy()], waiting=[waits("w", spec)])) == ["gpu_type", "capacity"]
    full = [busy(), busy("n2", job_id="r2")]
    assert codes(a_scenario(cluster, running=full, waiting=[waits("w", spec)])) == ["capacity"]


def test_pool_when_one_that_does_not_admit_it_has_room() -> None:
    scenario = a_scenario(TWO_POOLS, pools=RESERVED, running=[busy()], waiting=[waits("w", a_job(gpus=8, team="a"))])
    assert codes(scenario) == ["pool", "capacity"]
    assert message(scenario) == "there is room in urgent, which does not admit tier standard of team a"


def test_no_pool_when_the_other_is_full_too() -> None:
    running = [busy(), busy("n2", job_id="r2", tier="production")]
    assert codes(a_scenario(TWO_POOLS, pools=RESERVED, running=running, waiting=[waits("w", a_job(gpus=8))])) == [
        "capacity"
    ]


def test_each_team_is_told_of_itself() -> None:
    waiting = [waits(f"w-{team}", a_job(gpus=8, team=team)) for team in ("a", "b")]
    scenario = a_scenario(TWO_POOLS, pools=RESERVED, policy=NO_PROMISES, running=[busy()], waiting=waiting)
    assert [message(scenario, f"w-{team}")[-6:] for team in ("a", "b")] == ["team a", "team b"]


def spot(spec: Any, **pool: Any) -> list[str]:
    pools = [Pool(name=PoolName("main")), Pool(name=PoolName("urgent"), spot=True, **pool)]
    return codes(a_scenario(TWO_POOLS, pools=pools, running=[busy()], waiting=[waits("w", spec)]))


def test_spot_when_only_a_checkpoint_is_missing() -> None:
    assert spot(a_job(gpus=8)) == ["spot", "capacity"]


def test_no_spot_when_a_checkpoint_alone_would_not_help() -> None:
    assert spot(a_job(gpus=8), teams=(a_team("other").path,)) == ["capacity"]


def test_pool_when_a_spot_pool_does_not_admit_a_job_that_can_resume() -> None:
    assert spot(a_job(gpus=8, checkpoint=True), tiers=(TierName("production"),)) == ["pool", "capacity"]


def test_held_by_others_when_a_promise_would_be_broken() -> None:
    waiting = [waits("first", a_job(gpus=8, priority=90)), waits("w", a_job(gpus=4, priority=1))]
    scenario = a_scenario(flat(1), policy=Policy(hold_depth=1), running=[busy(gpus=4)], waiting=waiting)
    assert codes(scenario) == ["held_by_others"]
    assert codes(scenario, "first") == ["capacity"]


def test_held_by_others_without_backfill() -> None:
    waiting = [waits("first", a_job(gpus=8, priority=90)), waits("w", a_job(gpus=1, tier="exploratory"))]
    scenario = a_scenario(flat(1), policy=Policy(backfill=False), running=[busy(gpus=4)], waiting=waiting)
    assert codes(scenario) == ["held_by_others"]


def test_held_by_others_when_a_promised_job_needs_the_quota() -> None:
    scenario = a_scenario(
        flat(3),
        teams=[a_team("a", limit={"*": 12})],
        policy=Policy(hold_depth=1),
        running=[
            busy("n1", team="b", hours=3),
            busy("n2", team="b", job_id="r2", hours=5),
            busy("n3", 4, team="b", job_id="r3", hours=9),
        ],
        waiting=[
            waits("first", a_job(gpus=8, team="a", priority=90)),
            waits("w", a_job(gpus=4, team="a", priority=1), hours_ago=0.5),
            waits("w2", a_job(gpus=2, team="a", priority=1), hours_ago=0.4),
        ],
    )
    assert {job: codes(scenario, job) for job in explained(scenario)}["first"] == ["capacity"]


def test_held_when_its_user_holds_it() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w", held=True)])
    assert codes(scenario) == ["held"]
    assert explained(scenario)["w"].reasons[0].would_help == "muster release w"


def test_dependency_while_it_waits_for_another() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w", unmet=(JobId("prep"),))])
    assert codes(scenario) == ["dependency"]
    assert message(scenario) == "waits for prep"


def test_held_and_dependency_are_told_at_once() -> None:
    assert codes(a_scenario(flat(1), waiting=[waits("w", held=True, unmet=(JobId("prep"),))])) == ["held", "dependency"]


@pytest.mark.parametrize("ill", [{"state": "down"}, {"state": "draining"}, {"bad_gpus": (0,)}])
def test_node_health_when_a_sick_node_would_do(ill: dict[str, Any]) -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2", **ill))
    scenario = a_scenario(cluster, running=[busy()], waiting=[waits("w", a_job(gpus=8))])
    assert codes(scenario) == ["node_health", "capacity"]
    assert message(scenario) == "it would fit if n2 were in order"


def test_node_health_names_a_few_of_many_nodes() -> None:
    cluster = a_cluster(*(a_node(f"n{at}", state="down") for at in range(1, 6)))
    scenario = a_scenario(cluster, waiting=[waits("w", a_job(gpus=8, workers=5))])
    assert message(scenario) == "it would fit if n1, n2, n3 and 2 more were in order"


def test_node_health_names_only_nodes_that_would_help() -> None:
    cluster = a_cluster(a_node("n1", gpus=4, state="down"), a_node("n2", state="down"), a_node("n3"))
    scenario = a_scenario(cluster, running=[busy("n3")], waiting=[waits("w", a_job(gpus=8))])
    assert message(scenario) == "it would fit if n2 were in order"


def test_no_node_health_when_the_sick_node_is_too_small() -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2", gpus=4, state="down"))
    assert codes(a_scenario(cluster, running=[busy()], waiting=[waits("w", a_job(gpus=8))])) == ["capacity"]


def test_node_health_counts_what_starts_and_what_is_promised() -> None:
    """The sick node's healthy half is taken by a job that starts now; the rest would not be enough."""
    cluster = a_cluster(a_node("n1"), a_node("n2", bad_gpus=(0, 1, 2, 3)))
    waiting = [waits("w", a_job(gpus=8)), waits("small", a_job(gpus=4, priority=90))]
    assert codes(a_scenario(cluster, running=[busy()], waiting=waiting)) == ["capacity"]


def test_never_fits_when_an_empty_cluster_would_not_do() -> None:
    assert codes(a_scenario(flat(1), waiting=[waits("w", a_job(gpus=9))])) == ["never_fits"]
    assert codes(a_scenario(flat(1), waiting=[waits("w", a_job(gpu_type="b200"))])) == ["never_fits"]


def test_a_promised_job_whose_gpus_are_free_but_not_yet_its_own_is_told_when_it_starts() -> None:
    """A victim is on its way out: the promise stands on its GPUs."""
    running = [runs("v", a_job(gpus=8, tier="exploratory"), [("n1", range(8))])]
    scenario = a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=8))])
    assert codes(scenario) == ["capacity"]


def test_roles_of_several_types_are_all_asked_about() -> None:
    roles = tuple(
        RoleSpec(
            name=kind,
            workers_min=1,
            workers_max=1,
            request=Request(gpu_milli=8000, gpu_types=(a_node(gpu_type=kind).gpu_type,)),
        )
        for kind in ("h100", "a100")
    )
    cluster = a_cluster(a_node("n1"), a_node("n2", gpu_type="a100"))
    scenario = a_scenario(cluster, running=[busy("n2")], waiting=[waits("w", a_job(roles=roles))])
    assert codes(scenario) == ["capacity"]
    assert message(scenario) == "needs 8 a100, 0 are free"


def test_fragmented_and_not_held_by_others_when_it_would_not_fit_without_promises_either() -> None:
    running = [busy(f"n{at}", 4, job_id=f"r{at}") for at in (1, 2)]
    waiting = [waits("first", a_job(gpus=8, priority=90)), waits("w", a_job(gpus=8, priority=1))]
    assert codes(a_scenario(flat(2), policy=Policy(hold_depth=1), running=running, waiting=waiting)) == ["fragmented"]


def test_borrowing_alone_does_not_hide_what_the_job_really_waits_for() -> None:
    """GPUs are free and may be lent; it waits because nothing may pass the blocked job in front of it."""
    waiting = [waits("first", a_job(gpus=8, priority=90)), waits("w", a_job(gpus=2, team="a", tier="exploratory"))]
    scenario = a_scenario(
        flat(1),
        teams=[a_team("a", guaranteed={"*": 1})],
        policy=Policy(backfill=False),
        running=[busy(gpus=4)],
        waiting=waiting,
    )
    assert "held_by_others" in codes(scenario)


def test_held_by_others_names_the_promised_job_that_needs_the_quota() -> None:
    """`first` starts in two hours with all that team a may use; `w` would still use some of it then."""
    scenario = a_scenario(
        flat(2),
        teams=[a_team("a", limit={"*": 8})],
        policy=Policy(hold_depth=1),
        running=[busy("n1", hours=3), busy("n2", 4, job_id="r2", hours=9)],
        waiting=[
            waits("first", a_job(gpus=8, team="a", priority=90)),
            waits("w", a_job(gpus=4, team="a", hours=5)),
        ],
    )
    assert codes(scenario) == ["held_by_others"]
    assert message(scenario) == "waits behind first, which it must not delay: the team has no quota left for both"


def test_node_health_when_only_a_repair_would_make_room_whichever_job_ends() -> None:
    cluster = a_cluster(a_node("n1", state="draining"), a_node("n2"))
    scenario = a_scenario(cluster, running=[busy("n1")], waiting=[waits("w", a_job(gpus=8, workers=2))])
    assert "node_health" in codes(scenario)


def test_fragmented_names_cpus_when_gpus_are_free_beside_none() -> None:
    running = [runs("r", a_job(gpus=1, cpus=15, preemptible=False), [("n1", (0,))])]
    scenario = a_scenario(flat(1, cpus=16), running=running, waiting=[waits("w", a_job(gpus=1, cpus=8))])
    assert codes(scenario) == ["fragmented"]
    assert "CPUs" in message(scenario)


def test_a_job_that_never_ran_is_in_front_of_one_that_was_preempted() -> None:
    """Order keys of different bands cannot be compared: the cycle decides one band after another."""
    preempted = evolve(waits("old", a_job(gpus=8)), attained_gpu_ms=HOUR_MS, requeued=True, submitted_ms=NOW_MS)
    scenario = a_scenario(flat(1), running=[busy()], waiting=[preempted, waits("fresh", a_job(gpus=8))])
    snapshot = Snapshot.of(scenario)
    found = explain_all(snapshot, plan(snapshot, NOW_MS), NOW_MS)
    assert {each.job: each.position for each in found} == {"fresh": 1, "old": 2}
