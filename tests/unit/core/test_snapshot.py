"""Edits of the scheduling state: each leaves what a fresh index of the same situation would be."""

import pytest

from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import Worker
from muster.model.node import Node
from muster.model.policy import DAY_MS, HOUR_MS, MINUTE_MS, Policy
from muster.model.records import evolve
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_promise, a_scenario, a_team, flat, racks, runs, waits

TEAM = a_team("a").path


def started_on(snapshot: Snapshot) -> dict[str, list[str]]:
    return {start.job: [each.node for each in start.workers] for start in plan(snapshot, NOW_MS).starts}


def test_every_edit_makes_a_new_version() -> None:
    snapshot = Snapshot.of(a_scenario(flat(2)))
    versions = [snapshot.version]
    for edit in (
        lambda: snapshot.enqueue(waits("w")),
        lambda: snapshot.dequeue(JobId("w")),
        lambda: snapshot.start(runs("r", a_job(), [("n1", (0,))])),
        lambda: snapshot.checkpointed(JobId("r"), NOW_MS),
        lambda: snapshot.leaving(JobId("r"), NOW_MS),
        lambda: snapshot.finish(JobId("r")),
        lambda: snapshot.promise(()),
        lambda: snapshot.charge(TEAM, 1, NOW_MS),
        lambda: snapshot.preempted(TEAM, NOW_MS),
        lambda: snapshot.change_node(a_node("n1", state="draining")),
    ):
        edit()
        versions.append(snapshot.version)
    assert versions == sorted(set(versions))


def test_a_job_that_is_taken_out_of_the_queue_does_not_start() -> None:
    snapshot = Snapshot.of(a_scenario(flat(1), waiting=[waits("w"), waits("idle", held=True)]))
    assert snapshot.dequeue(JobId("w")).id == "w"
    assert snapshot.dequeue(JobId("idle")).held
    assert started_on(snapshot) == {}


def test_what_a_job_used_is_free_when_it_ends() -> None:
    running = [runs("r", a_job(gpus=8), [("n1", range(8))])]
    snapshot = Snapshot.of(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=8))]))
    snapshot.finish(JobId("r"))
    assert started_on(snapshot) == {"w": ["n1"]}


def test_a_job_that_changes_size_uses_what_its_new_workers_use() -> None:
    elastic = runs("r", a_job(gpus=4, workers=(1, 2), team="a"), [("n1", range(4)), ("n1", range(4, 8))])
    snapshot = Snapshot.of(a_scenario(flat(1), running=[elastic], waiting=[waits("w", a_job(gpus=4))]))
    snapshot.resize(JobId("r"), elastic.workers[:1])
    assert started_on(snapshot) == {"w": ["n1"]}
    assert snapshot.ledger.used_milli(TEAM) == 4000


def test_a_job_that_changes_size_keeps_its_promise() -> None:
    elastic = runs("r", a_job(gpus=1, workers=(1, 2)), [("n1", (0,)), ("n1", (1,))])
    snapshot = Snapshot.of(a_scenario(flat(1), running=[elastic]))
    snapshot.promise((a_promise("r", [("n1", (2,))], in_hours=1),))
    snapshot.resize(JobId("r"), (Worker(rank=0, role="worker", node=elastic.workers[0].node, gpus=(0,)),))
    assert list(snapshot.promises) == ["r"]


def test_a_job_that_starts_has_no_promise_any_more() -> None:
    promises = [a_promise(job, [("n1", (0,))], in_hours=1) for job in ("w", "other")]
    snapshot = Snapshot.of(a_scenario(flat(1), promises=promises))
    assert list(snapshot.promises) == ["w", "other"]
    snapshot.start(runs("w", a_job(), [("n1", (0,))]))
    assert list(snapshot.promises) == ["other"]


def test_a_new_node_is_used() -> None:
    running = [runs("r", a_job(gpus=8, team="a", preemptible=False), [("n1", range(8))])]
    snapshot = Snapshot.of(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=8))]))
    assert started_on(snapshot) == {}
    snapshot.change_node(a_node("n0"))
    assert started_on(snapshot) == {"w": ["n0"]}
    assert snapshot.ledger.used_milli(TEAM) == 8000
    assert [node.name for node in snapshot.cluster.nodes] == ["n1", "n0"]


def test_nodes_that_come_before_others_in_the_tree_do_not_confuse_which_job_uses_what() -> None:
    running = [runs("r", a_job(gpus=8), [("r2-n1", range(8))])]
    cluster = a_cluster(a_node("r2-n1", domains=("r2",)), levels=("rack",))
    snapshot = Snapshot.of(a_scenario(cluster, running=running, waiting=[waits("w", a_job(gpus=8, hours=1))]))
    snapshot.change_node(a_node("r1-n1", domains=("r1",)))
    assert started_on(snapshot) == {"w": ["r1-n1"]}
    snapshot.finish(JobId("r"))
    snapshot.enqueue(waits("w2", a_job(gpus=8)))
    assert sorted(started_on(snapshot).values()) == [["r1-n1"], ["r2-n1"]]


@pytest.mark.parametrize(
    "changed", [a_node("n2", gpus=16), a_node("n2", gpu_type="a100"), a_node("n2", pool="other"), a_node("n2", gpus=4)]
)
def test_a_node_that_became_another_machine_is_the_other_machine(changed: Node) -> None:
    waiting = [waits("w", a_job(gpus=4, gpu_type=changed.gpu_type, workers=2))]
    snapshot = Snapshot.of(a_scenario(flat(2), waiting=waiting))
    snapshot.change_node(changed)
    rebuilt = Snapshot.of(snapshot.scenario(NOW_MS))
    assert started_on(snapshot) == started_on(rebuilt)
    assert snapshot.cluster.nodes[-1] == changed


def test_a_node_that_comes_back_with_a_gpu_less_does_not_stop_the_scheduler() -> None:
    """One GPU has fallen off the bus while a job still counts as running on it."""
    snapshot = Snapshot.of(
        a_scenario(flat(2), running=[runs("r", a_job(gpus=8), [("n1", range(8))])], waiting=[waits("w")])
    )
    snapshot.change_node(a_node("n1", gpus=7))
    assert started_on(snapshot) == {"w": ["n2"]}


def test_a_node_that_changes_its_state_keeps_what_runs_there() -> None:
    running = [runs("r", a_job(gpus=4, preemptible=False), [("n1", range(4))])]
    for gpus, starts in ((8, {}), (4, {"w": ["n1"]})):
        snapshot = Snapshot.of(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=gpus))]))
        snapshot.change_node(a_node("n1", state="draining"))
        assert started_on(snapshot) == {}
        snapshot.change_node(a_node("n1"))
        assert started_on(snapshot) == starts


def test_a_node_with_more_cpus_than_before_has_more_of_them_free() -> None:
    waiting = [waits("w", a_job(cpus=8))]
    snapshot = Snapshot.of(a_scenario(flat(1, cpus=4), waiting=waiting))
    snapshot.change_node(a_node("n1", cpus=8))
    assert started_on(snapshot) == {"w": ["n1"]}


def test_preemptions_are_forgotten_after_an_hour() -> None:
    snapshot = Snapshot.of(a_scenario(flat(1), recent_preemptions=((TEAM, 2),)))
    assert snapshot.recent_preemptions.count(TEAM, NOW_MS) == 2
    snapshot.preempted(TEAM, NOW_MS + 30 * MINUTE_MS)
    assert snapshot.recent_preemptions.count(TEAM, NOW_MS + 59 * MINUTE_MS) == 3
    assert snapshot.recent_preemptions.count(TEAM, NOW_MS + HOUR_MS) == 1
    snapshot.preempted(TEAM, NOW_MS + 2 * HOUR_MS)
    assert snapshot.scenario(NOW_MS + 2 * HOUR_MS).recent_preemptions == ((TEAM, 1),)
    assert snapshot.scenario(NOW_MS + 9 * HOUR_MS).recent_preemptions == ()


def test_usage_is_halved_in_every_half_life() -> None:
    scenario = a_scenario(flat(1), policy=Policy(half_life_ms=DAY_MS), usage=((TEAM, 8 * HOUR_MS),))
    snapshot = Snapshot.of(scenario)
    assert snapshot.scenario(NOW_MS).usage == ((TEAM, 8 * HOUR_MS),)
    assert snapshot.scenario(NOW_MS + DAY_MS).usage == ((TEAM, 4 * HOUR_MS),)
    snapshot.charge(TEAM, HOUR_MS, NOW_MS + DAY_MS)
    assert snapshot.scenario(NOW_MS + 2 * DAY_MS).usage == ((TEAM, 5 * HOUR_MS // 2),)


def test_a_snapshot_and_the_scenario_it_tells_are_the_same_situation() -> None:
    scenario = a_scenario(
        racks(2, 2),
        running=[runs("r", a_job(gpus=4, team="a"), [("r1-n1", range(4))])],
        waiting=[waits("w", a_job(gpus=8, workers=4)), waits("idle", held=True)],
        teams=[a_team("a", guaranteed={"*": 4})],
        usage=((TEAM, HOUR_MS),),
        promises=(a_promise("w", [("r1-n1", range(8))], in_hours=1),),
        recent_preemptions=((TEAM, 1),),
    )
    assert Snapshot.of(scenario).scenario(NOW_MS) == scenario


def test_a_cluster_without_nodes_has_nothing_to_plan_until_the_first_comes() -> None:
    snapshot = Snapshot.of(a_scenario(a_cluster(), waiting=[waits("w")]))
    assert started_on(snapshot) == {}
    snapshot.change_node(a_node("n1"))
    assert started_on(snapshot) == {"w": ["n1"]}


def test_what_is_remembered_of_old_states_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.core.snapshot.FREE_STATES", 1)
    running = [runs("r", a_job(gpus=3), [("n1", range(3))]), runs("s", a_job(gpus=2), [("n2", range(2))])]
    snapshot = Snapshot.of(a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=8))]))
    snapshot.finish(JobId("r"))
    assert started_on(snapshot) == {"w": ["n1"]}
    assert len(snapshot.capacity.states.states) <= 4


def test_a_suspect_node_that_recovers_is_forgotten_as_one() -> None:
    snapshot = Snapshot.of(a_scenario(flat(2)))
    snapshot.change_node(a_node("n1", state="suspect"))
    assert snapshot.capacity.states.has_suspects
    snapshot.change_node(a_node("n1"))
    assert not snapshot.capacity.states.has_suspects


def test_who_may_be_told_to_leave_follows_when_rules_and_nodes_change() -> None:
    job = runs("long", a_job(gpus=8, checkpoint=True), [("n2", range(8))])
    waiting = waits("new", a_job(gpus=8, gpu_type="b"))
    cluster = a_cluster(a_node("n2", gpu_type="b"))
    quiet = a_scenario(cluster, policy=Policy(turns=False), turn_ms=HOUR_MS, running=[job], waiting=[waiting])
    snapshot = Snapshot.of(quiet)
    assert not plan(snapshot, NOW_MS).evictions
    snapshot.change_rules(evolve(snapshot.rules, policy=Policy()), NOW_MS)
    assert [eviction.job for eviction in plan(snapshot, NOW_MS).evictions] == ["long"]
    snapshot.change_node(a_node("n1", gpu_type="a"))  # comes first, so that n2 gets another number
    made = plan(snapshot, NOW_MS)
    assert ([eviction.job for eviction in made.evictions], [each.job for each in made.promises]) == (["long"], ["new"])
    snapshot.change_rules(quiet_rules := evolve(snapshot.rules, policy=Policy(turns=False)), NOW_MS)
    assert snapshot.rules == quiet_rules
    assert not plan(snapshot, NOW_MS).evictions
    snapshot.finish(job.id)
    assert [start.job for start in plan(snapshot, NOW_MS).starts] == ["new"]
