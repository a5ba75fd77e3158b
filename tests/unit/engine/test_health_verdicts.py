"""Verdicts of health in the log: what becomes of nodes and of the jobs on them."""

import pytest

from muster.live.publishing.feed import Feed
from muster.live.publishing.publisher import Publisher
from muster.model.events import HEALTH, NodeChanged, NodeReturned, NodeUnreachable
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, SignalStop
from muster.model.job import Cause, JobState
from muster.model.node import VERDICTS_KEPT, Node, NodeState
from muster.model.records import evolve
from muster.model.spec import Launch
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World, a_small_cluster

N1 = NodeName("n1")


@pytest.fixture
def world() -> World:
    return World(a_small_cluster(nodes=4))


def known(world: World, node: NodeName = N1) -> Node:
    return world.engine.state.nodes[node]


def judge(world: World, state: str, *, bad_gpus: tuple[int, ...] = (), by: str = HEALTH, node: NodeName = N1) -> int:
    """Record a verdict, or what an operator says."""
    after = evolve(known(world, node), state=NodeState(state), bad_gpus=bad_gpus)
    condemns = by == HEALTH and after.state is NodeState.DRAINING
    return world.engine.observe(
        NodeChanged(at_ms=world.now_ms, node=after, because="it burns", by=by, condemns=condemns)
    )


def running(world: World, count: int, *, gpus: int = 2) -> list[JobId]:
    jobs = [world.submit(a_job(gpus=gpus, checkpoint=True), FOREVER, FOREVER) for _ in range(count)]
    world.run(1_000)
    return jobs


def on(world: World, node: NodeName = N1) -> JobId:
    return next(iter(world.engine.state.jobs_on(node)))


def test_a_bad_gpu_costs_its_job_one_restart_and_nobody_else_anything(world: World) -> None:
    jobs = running(world, 3)
    hit = on(world)
    judge(world, "ready", bad_gpus=(1,))
    record = world.engine.job(hit)
    assert (record.state, record.cause) == (JobState.CHECKPOINTING, Cause.NODE_FAILURE)
    world.run(300_000)
    after = {job: world.engine.job(job) for job in jobs}
    assert {job: (each.attempt, each.node_failures) for job, each in after.items()} == {
        job: (2, 1) if job == hit else (1, 0) for job in jobs
    }
    assert all(each.state is JobState.RUNNING for each in after.values())
    assert known(world).state is NodeState.READY


def test_a_job_on_another_gpu_of_the_node_stays(world: World) -> None:
    running(world, 8, gpus=1)
    there = world.engine.state.jobs_on(N1)
    gpu_of = {job: world.engine.job(job).workers[0].gpus for job in there}
    judge(world, "ready", bad_gpus=(0,))
    world.run(300_000)
    assert {job: world.engine.job(job).node_failures for job in there} == {
        job: int(gpus == (0,)) for job, gpus in gpu_of.items()
    }


def test_a_bad_node_is_emptied_and_then_drained_for_the_same_reason(world: World) -> None:
    running(world, 1)
    node = world.engine.job(on_any(world)).workers[0].node
    judge(world, "draining", node=node)
    world.run(300_000)
    assert known(world, node).state is NodeState.DRAINED
    assert world.engine.state.node_notes[node] == "it burns"
    assert world.engine.state.set_aside[node] == HEALTH


@pytest.mark.parametrize("is_empty", [True, False])
def test_an_operator_who_drains_a_node_that_health_took_out_says_why(world: World, is_empty: bool) -> None:
    if not is_empty:
        running(world, 4)
    judge(world, "draining")
    world.run(600_000)
    by_operator = NodeChanged(at_ms=world.now_ms, node=known(world), because="its disk is replaced", by="ann")
    assert world.engine.observe(by_operator) == 1
    assert (world.engine.state.node_notes[N1], world.engine.state.set_aside[N1]) == ("its disk is replaced", "ann")
    judge(world, "drained")
    assert world.engine.state.node_notes[N1] == "its disk is replaced"


def on_any(world: World) -> JobId:
    return next(iter(world.engine.state.occupying))


def test_what_runs_on_a_node_that_an_operator_drains_may_end_in_its_own_time(world: World) -> None:
    running(world, 4)
    judge(world, "draining", by="ann")
    judge(world, "draining", bad_gpus=())
    judge(world, "ready", bad_gpus=())
    assert known(world).state is NodeState.DRAINING
    assert world.engine.job(on(world)).state is JobState.RUNNING
    judge(world, "draining", bad_gpus=(0,))
    assert world.engine.job(on(world)).cause is Cause.NODE_FAILURE


def test_survivors_of_torchft_go_on_without_the_workers_on_a_bad_node(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.submit(a_job(gpus=2, workers=(1, 3), launch=Launch.TORCHFT, checkpoint=True), FOREVER)
    world.run(60_000)
    before = world.engine.job(job)
    assert len(before.workers) == 3
    node = before.workers[-1].node
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    judge(world, "draining", node=node)
    after = world.engine.job(job)
    assert (after.state, len(after.workers), len(after.leaving)) == (JobState.RUNNING, 2, 1)
    assert after.leaving_by_ms == world.now_ms + after.grace_ms
    assert [(each.ranks, each.cause) for each in sent if isinstance(each, SignalStop)] == [
        ((before.workers[-1].rank,), Cause.NODE_FAILURE)
    ]


@pytest.mark.parametrize(("by", "back"), [(HEALTH, "drained"), ("ann", "drained"), ("", "ready")])
def test_a_node_that_was_taken_out_is_so_when_it_can_be_reached_again(world: World, by: str, back: str) -> None:
    if by:
        judge(world, "draining", by=by)
    world.engine.observe(NodeUnreachable(at_ms=1, node=N1), NodeReturned(at_ms=2, node=N1))
    assert known(world).state.value == back


def test_an_operator_overrules_health_and_health_never_an_operator(world: World) -> None:
    judge(world, "draining")
    assert judge(world, "drained", by="ann") == 1
    assert world.engine.state.set_aside[N1] == "ann"
    judge(world, "probation")
    assert known(world).state is NodeState.DRAINED
    judge(world, "ready", by="ann")
    assert (known(world).state, world.engine.state.set_aside) == (NodeState.READY, {})
    assert world.engine.state.node_health[N1].overruled_ms == world.now_ms


def test_what_happened_to_a_node_is_remembered_over_a_restart(world: World) -> None:
    world.backend.advance(5_000)
    for _ in range(VERDICTS_KEPT + 2):
        judge(world, "draining")
        judge(world, "probation")
        world.backend.advance(world.now_ms + 1)
        judge(world, "ready")
    judge(world, "ready", bad_gpus=(1,))
    again = world.restarted()
    assert again.engine.state.node_health == world.engine.state.node_health
    record = world.engine.state.node_health[N1]
    assert (len(record.verdicts_ms), record.verdicts_ms[-1]) == (VERDICTS_KEPT, world.now_ms)
    assert record.since_ms == world.now_ms
    publisher = Publisher(Feed(0))
    publisher.begin(again.engine.state)
    assert publisher.view.node_health[N1] == record


def test_a_verdict_on_a_node_that_is_gone_is_passed_over(world: World) -> None:
    strange = Node(name=NodeName("gone"), gpus=2, state=NodeState.SUSPECT)
    assert world.engine.observe(NodeChanged(at_ms=1, node=strange, by=HEALTH)) == 0
    assert NodeName("gone") not in world.engine.state.nodes


def test_a_node_on_probation_takes_no_work(world: World) -> None:
    for node in tuple(world.engine.state.nodes):
        judge(world, "draining", node=node)
        judge(world, "probation", node=node)
    job = world.submit(a_job(gpus=1), FOREVER)
    world.run(60_000)
    assert world.state_of(job) is JobState.QUEUED
    judge(world, "ready")
    world.run(120_000)
    assert world.state_of(job) is JobState.RUNNING


def test_what_says_nothing_new_changes_nothing(world: World) -> None:
    assert judge(world, "ready", by="ann") == 0
    assert judge(world, "ready") == 0
    assert world.engine.state.node_health == {}


def test_a_node_that_nobody_is_known_to_have_drained_does_not_become_healths(world: World) -> None:
    running(world, 4)
    judge(world, "draining", by="")
    judge(world, "draining", bad_gpus=(0,))
    assert (known(world).bad_gpus, world.engine.state.set_aside) == ((0,), {})
    world.engine.observe(NodeReturned(at_ms=world.now_ms, node=N1))


def test_an_operator_cannot_own_a_node_that_is_down(world: World) -> None:
    down = evolve(known(world), state=NodeState.DOWN)
    world.engine.observe(NodeChanged(at_ms=1, node=down, by="ann"))
    assert world.engine.state.set_aside == {}
