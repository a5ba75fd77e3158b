"""Nodes that a policy keeps free: for which jobs, until when, and what the log and a saved state say of them."""

import pytest

from muster.engine.folding.restoring import recorded, restored
from muster.model.events import JobStarted, NodeChanged, SparesSet
from muster.model.ids import JobId, NodeName
from muster.model.job import JobState
from muster.model.node import NodeState
from muster.model.policy import HOUR_MS, Policy
from muster.model.records import evolve
from muster.model.spec import Launch
from muster.store.codec import decode_state, encode_state
from tests.builders import a_job, a_scenario, flat
from tests.unit.engine.world import FOREVER, World

N1, N2, N3, N4, N5 = (NodeName(f"n{number}") for number in range(1, 6))
GPUS = 2


def a_world(nodes: int = 4, *, spares: int = 1) -> World:
    world = World(a_scenario(flat(nodes, gpus=GPUS), now_ms=0, policy=Policy(spares=spares)))
    world.settle()
    return world


def with_spares(world: World, spares: int) -> None:
    rules = world.engine.rules
    world.engine.change_rules(evolve(rules, policy=evolve(rules.policy, spares=spares)), world.now_ms)


def a_gang(world: World, nodes: int) -> JobId:
    """A gang on whole nodes that no other job may take the place of."""
    job = world.submit(a_job(gpus=GPUS, workers=nodes, checkpoint=True, preemptible=False), FOREVER)
    world.settle()
    return job


def nodes_of(world: World, job: JobId) -> list[str]:
    return sorted(worker.node for worker in world.engine.job(job).workers)


def kept(world: World) -> tuple[NodeName, ...]:
    return world.engine.state.spares


def lose(world: World, node: NodeName) -> None:
    world.backend.lose_node(node)
    world.run(world.now_ms + HOUR_MS)


def change(world: World, node: NodeName, state: NodeState) -> None:
    changed = evolve(world.engine.state.nodes[node], state=state)
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=changed))
    world.settle()


def test_without_the_policy_no_node_is_kept_and_nothing_is_written() -> None:
    world = a_world(spares=0)
    assert (kept(world), world.events()) == ((), [])


def test_a_cluster_without_nodes_keeps_none() -> None:
    assert kept(a_world(0)) == ()


def test_a_gang_that_lost_a_node_restarts_on_its_survivors_and_the_spare_while_another_job_waits() -> None:
    world = a_world()
    gang = a_gang(world, 3)
    assert (nodes_of(world, gang), kept(world)) == ([N1, N2, N3], (N4,))
    world.run(10 * HOUR_MS)
    newcomer = world.submit(a_job(gpus=GPUS, tier="production"), FOREVER)
    world.settle()
    assert world.state_of(newcomer) is JobState.QUEUED

    lose(world, N2)
    assert (nodes_of(world, gang), kept(world)) == ([N1, N3, N4], ())
    assert world.state_of(newcomer) is JobState.QUEUED

    world.backend.return_node(evolve(world.engine.state.nodes[N2], state=NodeState.READY))
    world.settle()
    assert kept(world) == (N2,)
    assert (nodes_of(world, gang), world.state_of(newcomer)) == ([N1, N3, N4], JobState.QUEUED)
    assert world.restarted().engine.state.spares == (N2,)


def test_a_job_that_lost_its_only_node_starts_on_the_spare() -> None:
    world = a_world(2)
    job = a_gang(world, 1)
    lose(world, N1)
    assert nodes_of(world, job) == [N2]


def test_a_job_that_lost_a_node_takes_what_is_free_and_the_spare_together() -> None:
    world = a_world(5)
    gang, other = a_gang(world, 3), a_gang(world, 1)
    lose(world, N2)
    lose(world, N3)
    assert world.state_of(gang) is JobState.QUEUED
    world.engine.cancel(other, world.now_ms)
    world.run(world.now_ms + HOUR_MS)
    assert nodes_of(world, gang) == [N1, N4, N5]


def test_a_job_for_which_there_are_not_enough_spares_leaves_them_alone() -> None:
    world = a_world(5)
    gang = a_gang(world, 4)
    lose(world, N1)
    lose(world, N2)
    assert (world.state_of(gang), nodes_of(world, gang)) == (JobState.QUEUED, [])
    assert len(kept(world)) == 1


def test_a_node_that_becomes_free_later_becomes_a_spare_and_nothing_leaves_for_it() -> None:
    world = a_world(2, spares=0)
    first, second = a_gang(world, 1), a_gang(world, 1)
    with_spares(world, 1)
    world.run(world.now_ms + HOUR_MS)
    assert kept(world) == ()
    assert {world.state_of(first), world.state_of(second)} == {JobState.RUNNING}
    waiting = a_gang(world, 1)
    world.engine.cancel(first, world.now_ms)
    world.run(world.now_ms + HOUR_MS)
    assert kept(world) == (N1,)
    assert world.state_of(waiting) is JobState.QUEUED


def test_setting_spares_to_zero_gives_all_nodes_back_at_once() -> None:
    world = a_world(2, spares=2)
    job = a_gang(world, 1)
    with_spares(world, 0)
    assert kept(world) == ()
    world.settle()
    assert world.state_of(job) is JobState.RUNNING


def test_fewer_spares_give_the_other_nodes_back() -> None:
    world = a_world(spares=3)
    with_spares(world, 1)
    assert kept(world) == (N4,)


@pytest.mark.parametrize("state", [NodeState.SUSPECT, NodeState.DRAINING, NodeState.DRAINED, NodeState.DOWN])
def test_a_node_that_is_not_ready_is_no_spare(state: NodeState) -> None:
    world = a_world()
    change(world, N4, state)
    assert kept(world) == (N3,)
    assert not world.engine.state.snapshot.scenario(0).cluster.nodes[3].spare


def test_spares_give_way_to_a_job_that_could_never_run_beside_them() -> None:
    world = a_world()
    whole = a_gang(world, 4)
    assert (world.state_of(whole), kept(world)) == (JobState.RUNNING, ())
    world.engine.cancel(whole, world.now_ms)
    world.run(world.now_ms + HOUR_MS)
    assert kept(world) == (N4,)


def test_a_node_that_leaves_the_cluster_is_no_spare() -> None:
    world = a_world()
    world.engine.change_cluster(flat(3, gpus=GPUS), world.now_ms)
    assert kept(world) == ()
    world.settle()
    assert kept(world) == (N3,)


def test_a_spare_stays_a_spare_when_its_cluster_is_configured_anew() -> None:
    world = a_world()
    world.engine.change_cluster(flat(5, gpus=GPUS), world.now_ms)
    world.settle()
    assert kept(world) == (N4,)
    assert nodes_of(world, a_gang(world, 4)) == [N1, N2, N3, N5]


def test_looking_again_writes_nothing() -> None:
    world = a_world()
    a_gang(world, 2)
    version = world.engine.state.version
    for later_ms in range(3):
        world.engine.tick(world.now_ms + later_ms)
    world.restarted().settle()
    assert world.engine.state.version == version
    assert world.events(SparesSet) == [SparesSet(at_ms=0, nodes=(N4,))]


def test_a_saved_state_has_the_spares() -> None:
    world = a_world()
    again = restored(decode_state(encode_state(recorded(world.engine.state))))
    assert again.spares == (N4,)
    assert again.snapshot.scenario(0).cluster == world.engine.state.snapshot.scenario(0).cluster


def test_the_spare_is_given_away_before_the_start_that_needs_it_and_in_the_same_tick() -> None:
    world = a_world()
    gang = a_gang(world, 3)
    lose(world, N2)
    events = world.events()
    at = next(number for number, event in enumerate(events) if isinstance(event, JobStarted) and event.attempt == 2)
    assert events[at - 1] == SparesSet(at_ms=events[at].at_ms, nodes=())
    assert world.engine.job(gang).attempt == 2


@pytest.mark.parametrize("launch", [Launch.TORCHRUN, Launch.TORCHFT])
def test_a_gang_that_goes_on_without_a_lost_node_gets_the_spare_at_once_while_another_job_waits(launch: Launch) -> None:
    world = a_world()
    spec = a_job(gpus=GPUS, workers=(1, 3), checkpoint=True, preemptible=False, launch=launch)
    gang = world.submit(spec, FOREVER)
    world.settle()
    newcomer = world.submit(a_job(gpus=GPUS, workers=3, tier="production"), FOREVER)
    world.settle()
    assert (nodes_of(world, gang), kept(world)) == ([N1, N2, N3], (N4,))

    world.backend.lose_node(N2)
    world.settle()
    record = world.engine.job(gang)
    assert (nodes_of(world, gang), kept(world)) == ([N1, N3, N4], ())
    assert (record.state, record.attempt, record.lost_workers) == (JobState.RUNNING, 1, 0)
    assert world.state_of(newcomer) is JobState.QUEUED


def test_a_gang_that_was_smaller_than_it_may_be_does_not_grow_beyond_that_on_spares() -> None:
    world = a_world(5, spares=2)
    gang = world.submit(a_job(gpus=GPUS, workers=(1, 4), checkpoint=True, launch=Launch.TORCHFT), FOREVER)
    world.settle()
    assert (nodes_of(world, gang), sorted(kept(world))) == ([N1, N2, N3], [N4, N5])
    world.backend.lose_node(N2)
    world.settle()
    assert len(nodes_of(world, gang)) == 3
    assert len(kept(world)) == 1
