"""A node that was given up may only have hung: what it ran is killed, however late it hears of it."""

import pytest

from muster.backends.fake import FakeBackend
from muster.model.events import NodeChanged, NodeLost
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command
from muster.model.job import JobState
from muster.model.node import NodeState
from muster.model.spec import Launch
from tests.builders import a_job, a_node
from tests.unit.engine.world import FOREVER, World

NODE = NodeName("n1")
BACK = a_node("n1", gpus=2)


class Unreachable(FakeBackend):
    """A backend that does not get to hear commands for a while; its processes go on."""

    is_reached = True

    def send(self, command: Command) -> None:
        if self.is_reached:
            super().send(command)


@pytest.fixture
def backend() -> Unreachable:
    return Unreachable()


@pytest.fixture
def world(backend: Unreachable) -> World:
    return World(backend=backend)


def lose_unheard(world: World, backend: Unreachable) -> None:
    """The engine gives the node up while the backend cannot be told."""
    backend.is_reached = False
    world.engine.observe(NodeLost(at_ms=world.now_ms, node=NODE, because="no sign of life"))


def cancelled_on_it(world: World, backend: Unreachable) -> JobId:
    """A job that was on the node when it hung, and that will not be started again."""
    job = world.submit(a_job(gpus=2), FOREVER)
    world.settle()
    assert world.engine.job(job).workers[0].node == NODE
    lose_unheard(world, backend)
    world.engine.cancel(job, world.now_ms)
    backend.is_reached = True
    assert (world.state_of(job), backend.alive(job)) == (JobState.CANCELLED, (0,))
    return job


def test_what_a_node_goes_on_with_is_killed_when_it_is_back(world: World, backend: Unreachable) -> None:
    job = cancelled_on_it(world, backend)
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=BACK, because="it is back"))
    assert backend.alive(job) == ()
    world.settle()
    assert world.state_of(job) is JobState.CANCELLED


def test_no_job_gets_gpus_that_another_still_uses(world: World, backend: Unreachable) -> None:
    job = cancelled_on_it(world, backend)
    heir = world.submit(a_job(gpus=2, workers=2), FOREVER)
    world.settle()
    assert world.state_of(heir) is JobState.QUEUED
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=BACK, because="it is back"))
    world.settle()
    assert (world.state_of(heir), backend.alive(heir), backend.alive(job)) == (JobState.RUNNING, (0, 1), ())


def test_a_backend_that_can_be_reached_again_hears_of_it_as_well(world: World, backend: Unreachable) -> None:
    job = cancelled_on_it(world, backend)
    world.engine.reconnect(world.now_ms)
    assert backend.alive(job) == ()


def test_an_engine_that_was_restarted_still_knows(world: World, backend: Unreachable) -> None:
    job = cancelled_on_it(world, backend)
    world.restarted()
    assert backend.alive(job) == ()


def test_a_gang_that_goes_on_without_its_lost_workers_is_rid_of_them(world: World, backend: Unreachable) -> None:
    """The kill has the generation that the job has by then, so that it is not refused."""
    job = world.submit(a_job(gpus=1, workers=(2, 4), launch=Launch.TORCHFT, checkpoint=True), FOREVER)
    world.settle()
    assert len(backend.alive(job)) == 4
    lose_unheard(world, backend)
    backend.is_reached = True
    world.run(2_000_000)
    assert world.engine.job(job).state is JobState.RUNNING
    staying = tuple(worker.rank for worker in world.engine.job(job).workers)
    assert backend.alive(job) != staying
    drained = a_node("n1", gpus=2, state=NodeState.DRAINED)
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=drained, because="it is back"))
    assert backend.alive(job) == staying
    assert backend.refused == []


def test_a_job_that_was_started_again_is_left_alone(world: World, backend: Unreachable) -> None:
    job = world.submit(a_job(gpus=2), FOREVER)
    world.settle()
    lose_unheard(world, backend)
    backend.is_reached = True
    world.settle()
    assert (world.engine.job(job).attempt, backend.alive(job)) == (2, (0,))
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=BACK, because="it is back"))
    world.engine.reconnect(world.now_ms)
    world.settle()
    assert (world.state_of(job), world.engine.job(job).attempt, backend.alive(job)) == (JobState.RUNNING, 2, (0,))
