"""Which nodes are kept as spares, and how jobs that lost a node start on them."""

from typing import Any

import pytest

from muster.core.explaining.explain import explain
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.core.spares import SpareChoice, replacements_on_spares, starts_on_spares, with_free_nodes
from muster.model.ids import JobId, NodeName
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.plan import Basis, ReasonCode
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.spec import Launch
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, flat, racks, runs, waits

GANG = JobId("gang")


def snapshot(cluster: ClusterSpec, *, spares: int = 1, **fields: Any) -> Snapshot:
    return Snapshot.of(a_scenario(cluster, policy=Policy(spares=spares), **fields))


def kept(node: Node) -> Node:
    """The node as planning sees it while it is a spare."""
    return evolve(node, state=NodeState.DRAINED, spare=True)


def keeping(cluster: ClusterSpec, *names: str) -> ClusterSpec:
    return evolve(cluster, nodes=tuple(kept(node) if node.name in names else node for node in cluster.nodes))


def names(*found: str) -> tuple[NodeName, ...]:
    return tuple(map(NodeName, found))


def test_the_last_free_nodes_of_the_topology_are_kept() -> None:
    assert with_free_nodes(snapshot(racks(2, 2), spares=2), ()) == names("r2-n2", "r2-n1")


def test_nodes_of_the_kind_with_the_most_gpus_are_kept_first() -> None:
    cluster = a_cluster(
        a_node("a1", gpu_type="a100"), a_node("h1"), a_node("h2"), a_node("z1", gpu_type="a100", gpus=4)
    )
    assert with_free_nodes(snapshot(cluster, spares=3), ()) == names("h2", "h1", "a1")


@pytest.mark.parametrize(
    "node",
    [
        a_node("n2", state="suspect"),
        a_node("n2", state="draining"),
        a_node("n2", state="drained"),
        a_node("n2", state="down"),
        a_node("n2", bad_gpus=(3,)),
        a_node("n2", gpus=0),
    ],
)
def test_a_node_that_is_no_whole_ready_node_with_gpus_is_not_kept(node: Node) -> None:
    assert with_free_nodes(snapshot(a_cluster(a_node("n1"), node)), names("n2")) == names("n1")


def test_a_node_on_which_something_runs_is_not_kept() -> None:
    running = runs("r", a_job(), [("n2", [0])])
    assert with_free_nodes(snapshot(flat(2), running=(running,), spares=2), names("n2")) == names("n1")


def test_a_spare_stays_although_a_better_node_is_free() -> None:
    assert with_free_nodes(snapshot(keeping(flat(3), "n1")), names("n1")) == names("n1")


def test_a_spare_that_is_gone_is_replaced() -> None:
    assert with_free_nodes(snapshot(flat(2)), names("gone")) == names("n2")


def test_there_are_never_more_than_the_policy_says() -> None:
    assert with_free_nodes(snapshot(flat(3), spares=0), names("n1")) == ()
    assert with_free_nodes(snapshot(flat(3), spares=1), names("n1", "n2")) == names("n1")


def test_a_promised_node_is_kept_last() -> None:
    situation = snapshot(
        flat(2), waiting=(waits("w", a_job(gpus=8)),), promises=(a_promise("w", [("n2", range(8))], in_hours=1),)
    )
    assert with_free_nodes(situation, ()) == names("n1")
    assert with_free_nodes(situation, names("n2")) == names("n2")


def test_a_node_that_jobs_left_for_another_job_is_not_kept() -> None:
    promise = a_promise("w", [("n2", range(8))], in_hours=1, basis=Basis.DEPARTURES)
    situation = snapshot(flat(2), waiting=(waits("w", a_job(gpus=8)),), promises=(promise,), spares=2)
    assert with_free_nodes(situation, ()) == names("n1")


def test_other_nodes_are_kept_if_the_present_ones_split_the_only_room_of_a_job() -> None:
    cluster = keeping(racks(2, 2), "r1-n1", "r2-n1")
    job = waits("w", a_job(gpus=8, workers=2, within="rack"))
    choice, situation = SpareChoice(), snapshot(cluster, spares=2, waiting=(job,))
    found = choice.choose(situation, names("r1-n1", "r2-n1"))
    assert found == names("r2-n2", "r2-n1")
    assert choice.choose(situation, found) == found


def test_no_node_is_kept_while_a_job_waits_that_never_fits_beside_spares() -> None:
    situation = snapshot(flat(3), waiting=(waits("w", a_job(gpus=8, workers=3)),))
    assert SpareChoice().choose(situation, ()) == ()


def test_a_job_that_fits_nowhere_in_any_case_is_no_reason_to_keep_none() -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2"), a_node("n3", state="down"))
    situation = snapshot(cluster, waiting=(waits("w", a_job(gpus=8, workers=3)),))
    assert SpareChoice().choose(situation, ()) == names("n2")


def test_what_fits_beside_spares_is_found_anew_when_a_node_changes() -> None:
    choice, situation = SpareChoice(), snapshot(flat(3), waiting=(waits("w", a_job(gpus=8, workers=2)),))
    assert choice.choose(situation, ()) == names("n3")
    situation.change_node(a_node("n1", state="down"))
    assert choice.choose(situation, names("n3")) == ()
    situation.change_node(a_node("n1"))
    assert choice.choose(situation, ()) == names("n3")


def lost(**fields: Any) -> Any:
    """A gang of two whole nodes that has run for long and lost the second."""
    spec = fields.pop("spec", a_job(gpus=8, workers=2))
    return waits("gang", spec, preferred_nodes=names("n1"), attained_gpu_ms=1_000 * HOUR_MS, **fields)


def used_by(situation: Snapshot) -> list[str]:
    starts = starts_on_spares(situation, (GANG,), NOW_MS)
    return [worker.node for start in starts for worker in start.workers]


def test_a_gang_that_lost_a_node_gets_the_spare_and_its_survivors_although_urgent_jobs_wait() -> None:
    urgent = waits("u", a_job(gpus=8, tier="production"))
    situation = snapshot(keeping(flat(2), "n2"), waiting=(urgent, lost()))
    before = situation.scenario(NOW_MS)
    assert used_by(situation) == ["n1", "n2"]
    assert situation.scenario(NOW_MS) == before


def test_nodes_promised_to_others_are_left_alone_unless_the_gang_survived_there() -> None:
    other = waits("o", a_job(gpus=8))
    taken = a_promise("o", [("n3", range(8))], in_hours=1)
    cluster = a_cluster(a_node("n1"), a_node("n2", state="down"), a_node("n3"))
    assert used_by(snapshot(cluster, waiting=(other, lost()), promises=(taken,))) == []
    own = a_promise("o", [("n1", range(8))], in_hours=1)
    assert used_by(snapshot(cluster, waiting=(other, lost()), promises=(own,))) == ["n1", "n3"]


def test_a_gang_does_not_wait_for_the_rack_that_it_prefers() -> None:
    spec = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=1_000 * HOUR_MS)
    cluster = keeping(racks(2, 1), "r2-n1")
    assert used_by(snapshot(cluster, waiting=(lost(spec=spec),))) == ["r1-n1", "r2-n1"]


def test_nothing_starts_if_spares_are_not_enough_or_a_team_may_not_have_more() -> None:
    assert used_by(snapshot(keeping(flat(2), "n2"), waiting=(lost(spec=a_job(gpus=8, workers=3)),))) == []
    teams = (a_team("default", limit={"*": 8}),)
    assert used_by(snapshot(keeping(flat(2), "n2"), waiting=(lost(),), teams=teams)) == []


def test_a_waiting_job_is_told_that_it_would_fit_on_spares_and_not_that_they_are_broken() -> None:
    situation = snapshot(keeping(flat(4), "n1", "n2", "n3", "n4"), waiting=(waits("gang", a_job(gpus=8)),), spares=4)
    told = explain(GANG, situation, plan(situation, NOW_MS), NOW_MS)
    assert told is not None
    assert [reason.code for reason in told.reasons] == [ReasonCode.CAPACITY, ReasonCode.CAPACITY]
    assert told.reasons[0].message == (
        "it would fit on nodes that are kept as spares for jobs that lose a node: n1, n2, n3 and 1 more"
    )
    assert "`spares`" in told.reasons[0].would_help


def test_only_jobs_that_lost_workers_get_others_and_no_more_than_they_had() -> None:
    spec = a_job(gpus=8, workers=(1, 4), launch=Launch.TORCHFT)
    short = evolve(runs("short", spec, [("n1", range(8))], hours_ago=1), lost_workers=1)
    other = runs("other", spec, [("n2", range(8))], hours_ago=1)
    found = replacements_on_spares(snapshot(keeping(flat(5), "n4", "n5"), running=[short, other]), NOW_MS)
    assert [(each.job, each.to_workers) for each in found] == [("short", 2)]


def test_promised_nodes_are_not_for_replacements() -> None:
    spec = a_job(gpus=8, workers=(1, 4), launch=Launch.TORCHFT)
    short = evolve(runs("short", spec, [("n1", range(8))], hours_ago=1), lost_workers=1)
    promised = a_promise("gang", [("n2", range(8))], in_hours=1)
    waiting = [waits("gang", a_job(gpus=8))]
    fields: dict[str, Any] = {"running": [short], "waiting": waiting, "promises": [promised]}
    assert replacements_on_spares(snapshot(flat(2), **fields), NOW_MS) == ()
    (found,) = replacements_on_spares(snapshot(keeping(flat(3), "n3"), **fields), NOW_MS)
    assert [worker.node for worker in found.workers] == ["n1", "n3"]


def test_a_job_of_one_size_that_lost_workers_does_not_grow() -> None:
    short = evolve(runs("short", a_job(gpus=8), [("n1", range(8))], hours_ago=1), lost_workers=1)
    assert replacements_on_spares(snapshot(keeping(flat(2), "n2"), running=[short]), NOW_MS) == ()
