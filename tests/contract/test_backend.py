"""What every backend must do, and what the fake can pretend.

A `World` is a backend whose time and nodes the tests can move; an adapter to a real engine brings its own.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import pytest

from muster.backends.base import Backend
from muster.backends.fake import KILLED, FakeBackend, GangScript
from muster.model.events import (
    CheckpointSaved,
    NodeChanged,
    NodeLost,
    ObservedEvent,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import AskCheckpoint, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Cause
from muster.model.node import Node
from muster.model.records import evolve
from tests.capabilities import needs
from tests.containers.podman_store import temporary_store
from tests.contract.agent_world import AgentWorld
from tests.contract.container_world import ContainerWorld
from tests.contract.kube_world import KubeWorld
from tests.contract.local_world import LocalWorld
from tests.contract.ray_world import RayWorld
from tests.contract.slurm_world import SlurmWorld
from tests.kube.cluster import KubeCluster
from tests.ray_cluster import RayCluster
from tests.slurm_cluster import Cluster
from tests.unit.core.lifecycle.builders import JOB, a_gang, a_spec

RUNS_ON = GangScript(run_ms=None)
IGNORES_STOP = GangScript(run_ms=None, stop_ms=None)


class World(Backend, Protocol):
    """A backend that a test can move."""

    def script(self, job: JobId, *scripts: GangScript) -> None:
        """Say how the attempts of a job behave."""

    def advance(self, to_ms: int) -> None:
        """Let time pass."""

    def lose_node(self, node: NodeName) -> None:
        """Take a node away."""

    def alive(self, job: JobId) -> tuple[int, ...]:
        """The ranks that have a process."""
        ...


@contextmanager
def a_local_world(home: Path) -> Iterator[World]:
    with closing(LocalWorld(home)) as world:
        yield world


@contextmanager
def an_agent_world(home: Path) -> Iterator[World]:
    with closing(AgentWorld(home)) as world:
        yield world


@contextmanager
def a_slurm_world(home: Path, cluster: Cluster) -> Iterator[World]:
    with closing(SlurmWorld(home, cluster)) as world:
        yield world


@contextmanager
def a_ray_world(home: Path, cluster: RayCluster) -> Iterator[World]:
    with cluster.inside(), closing(RayWorld(home, cluster)) as world:
        yield world


@contextmanager
def a_container_world(home: Path) -> Iterator[World]:
    needs("containers")
    with temporary_store() as store, closing(ContainerWorld(home, store)) as world:
        yield world


WORLDS: dict[str, Callable[[Path], AbstractContextManager[World]]] = {
    "fake": lambda _: nullcontext(FakeBackend()),
    "local": a_local_world,
    "agents": an_agent_world,
    "containers": a_container_world,
}
"""How each is made, given a folder of its own."""


@contextmanager
def a_kube_world(home: Path, cluster: KubeCluster) -> Iterator[World]:
    with closing(KubeWorld(home, cluster)) as world:
        yield world


ON_ENGINES: dict[str, Callable[[Path, Any], AbstractContextManager[World]]] = {
    "kubernetes": a_kube_world,
    "ray": a_ray_world,
    "slurm": a_slurm_world,
}
"""How each is made, given a folder of its own and the engine underneath, which is a fixture of the same name."""


@pytest.fixture(params=[*sorted(WORLDS), *ON_ENGINES])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param in ON_ENGINES:
        with ON_ENGINES[request.param](tmp_path, request.getfixturevalue(request.param)) as world:
            yield world
        return
    with WORLDS[request.param](tmp_path) as world:
        yield world


def start(*ranks: int, attempt: int = 1, generation: int = 1) -> StartWorkers:
    gang = a_gang(2)
    workers = tuple(worker for worker in gang if worker.rank in (ranks or (0, 1)))
    return StartWorkers(job=JOB, attempt=attempt, generation=generation, spec=a_spec(), workers=workers, gang=gang)


def stop(*ranks: int, attempt: int = 1, generation: int = 2) -> SignalStop:
    return SignalStop(
        job=JOB, attempt=attempt, generation=generation, ranks=ranks or (0, 1), grace_ms=9_000, cause=Cause.CANCELLED
    )


def kill(*ranks: int, attempt: int = 1, generation: int = 3) -> KillWorkers:
    return KillWorkers(job=JOB, attempt=attempt, generation=generation, ranks=ranks or (0, 1))


def up(*ranks: int, at_ms: int = 0, attempt: int = 1, generation: int = 1) -> list[ObservedEvent]:
    return [
        WorkersStarted(at_ms=at_ms, job=JOB, attempt=attempt, generation=generation, ranks=(rank,))
        for rank in ranks or (0, 1)
    ]


def gone(
    *ranks: int, at_ms: int, code: int = 0, told: bool = False, generation: int = 1, oom: bool = False
) -> list[ObservedEvent]:
    return [
        WorkersExited(
            at_ms=at_ms,
            job=JOB,
            attempt=1,
            generation=generation,
            ranks=(rank,),
            exit_code=code,
            told=told,
            oom=oom,
        )
        for rank in ranks or (0, 1)
    ]


def heard(world: World) -> list[ObservedEvent]:
    return list(world.poll())


@pytest.mark.on_engines
def test_a_gang_is_started_and_its_exits_are_reported(world: World) -> None:
    world.send(start())
    assert heard(world) == up()
    world.advance(60_000)
    assert heard(world) == gone(at_ms=60_000)
    assert heard(world) == []


def test_a_report_carries_the_newest_generation_that_was_seen(world: World) -> None:
    world.script(JOB, RUNS_ON)
    world.send(start())
    world.send(AskCheckpoint(job=JOB, attempt=1, generation=5))
    world.send(stop(generation=6))
    assert heard(world)[-1:] == gone(1, at_ms=0, code=1, told=True, generation=6)


def test_an_older_generation_is_refused(world: World) -> None:
    world.script(JOB, IGNORES_STOP)
    world.send(start(generation=4))
    world.send(kill(generation=3))
    world.send(start(attempt=2, generation=3))
    assert heard(world) == up(generation=4)
    assert world.alive(JOB) == (0, 1)


def test_starting_twice_starts_once_and_reports_again(world: World) -> None:
    world.script(JOB, GangScript(run_ms=5_000))
    world.send(start())
    heard(world)
    world.send(start())
    assert heard(world) == up()
    world.advance(5_000)
    ended = heard(world)
    assert ended == gone(at_ms=5_000)
    world.send(start())
    assert heard(world) == ended
    assert world.alive(JOB) == ()


def test_stopping_and_killing_twice_is_once(world: World) -> None:
    world.script(JOB, RUNS_ON)
    world.send(start())
    heard(world)
    world.send(stop())
    left = gone(at_ms=0, code=1, told=True, generation=2)
    assert heard(world) == left
    world.send(stop())
    world.send(kill())
    assert heard(world) == [*left, *left]


@pytest.mark.on_engines
def test_a_worker_that_ignores_a_stop_does_not_survive_a_kill(world: World) -> None:
    world.script(JOB, IGNORES_STOP)
    world.send(start())
    heard(world)
    world.send(stop())
    world.advance(100_000)
    assert heard(world) == []
    world.send(kill(1))
    assert heard(world) == gone(1, at_ms=100_000, code=KILLED, told=True, generation=3)
    assert world.alive(JOB) == (0,)


def test_workers_that_were_never_started_are_said_not_to_exist(world: World) -> None:
    world.send(stop())
    assert [(type(event), event) for event in heard(world)] == [
        (
            StartFailed,
            StartFailed(at_ms=0, job=JOB, attempt=1, generation=2, ranks=(0, 1), message="never started"),
        )
    ]
    world.send(start())
    assert heard(world) == []


@pytest.mark.on_engines
def test_a_newer_attempt_ends_what_is_left_of_the_older(world: World) -> None:
    world.script(JOB, IGNORES_STOP)
    world.send(start())
    world.send(start(attempt=2, generation=4))
    world.advance(1)
    assert heard(world)[-2:] == up(attempt=2, generation=4)
    world.send(kill(attempt=2, generation=5))
    assert {event.attempt for event in heard(world) if isinstance(event, WorkersExited)} == {2}


def test_a_command_for_an_older_attempt_starts_and_ends_nothing(world: World) -> None:
    """A control plane with an older database may ask for what a newer attempt has replaced."""
    world.script(JOB, RUNS_ON)
    world.send(start(attempt=2, generation=2))
    assert heard(world) == up(attempt=2, generation=2)
    for command in (start(generation=3), stop(generation=3), kill(generation=3)):
        world.send(command)
        denied = heard(world)
        assert {type(event) for event in denied} == {StartFailed}
        assert sorted(rank for event in denied if isinstance(event, StartFailed) for rank in event.ranks) == [0, 1]
        assert {(event.attempt, event.generation) for event in denied if isinstance(event, StartFailed)} == {(1, 3)}
    assert world.alive(JOB) == (0, 1)


@pytest.mark.on_engines
def test_gpus_that_are_in_use_are_not_given_to_another_job(world: World) -> None:
    """A control plane with an older database may not know that they are."""
    world.script(JOB, RUNS_ON)
    world.send(start())
    heard(world)
    other = evolve(start(), job=JobId("job-other"))
    world.send(other)
    denied = heard(world)
    in_use = [event.message for event in denied if isinstance(event, StartFailed)]
    assert in_use == [f"GPU 0 of n{number} is in use by {JOB}" for number in (0, 1)]
    assert (world.alive(JOB), world.alive(other.job)) == ((0, 1), ())
    world.send(kill())
    heard(world)
    world.send(evolve(other, attempt=2, generation=2))
    assert {type(event) for event in heard(world)} == {WorkersStarted}
    assert world.alive(other.job) == (0, 1)


def test_a_lost_node_is_reported_and_its_workers_are_not(world: World) -> None:
    world.script(JOB, RUNS_ON)
    world.send(start())
    heard(world)
    world.lose_node(NodeName("n1"))
    assert heard(world) == [NodeLost(at_ms=0, node=NodeName("n1"), because="lost")]
    world.send(kill())
    assert heard(world) == gone(0, at_ms=0, code=KILLED, told=True, generation=3)
    world.send(start(attempt=2, generation=4))
    assert heard(world) == up(0, attempt=2, generation=4)


def test_an_attempt_of_the_fake_behaves_by_its_script_and_the_last_one_goes_on() -> None:
    world = FakeBackend()
    world.script(JOB, GangScript(run_ms=1, exit_code=3, oom=True), GangScript(run_ms=2))
    world.send(start(0))
    world.advance(1)
    assert heard(world)[-1:] == gone(0, at_ms=1, code=3, oom=True)
    for attempt in (2, 3):
        world.send(start(0, attempt=attempt, generation=attempt))
        world.advance(100 * attempt)
        last = heard(world)[-1]
        assert isinstance(last, WorkersExited)
        assert last.exit_code == 0


def test_the_fake_crashes_one_rank_and_starts_slowly() -> None:
    fake = FakeBackend({JOB: [GangScript(start_ms=10, run_ms=None, crash_rank=1, crash_ms=5)]})
    fake.send(start())
    assert (heard(fake), fake.next_ms) == ([], 10)
    fake.advance(20)
    assert heard(fake) == [*up(at_ms=10), *gone(1, at_ms=15, code=1)]
    assert (fake.alive(JOB), fake.next_ms, fake.now_ms) == ((0,), None, 20)


def test_the_fake_is_unable_to_start() -> None:
    fake = FakeBackend({JOB: [GangScript(cannot_start=True)]})
    fake.send(start())
    assert [type(event) for event in heard(fake)] == [StartFailed, StartFailed]
    fake.send(kill(0))
    assert [type(event) for event in heard(fake)] == [StartFailed]


def test_the_fake_saves_when_asked_regularly_and_before_it_leaves() -> None:
    fake = FakeBackend({JOB: [GangScript(run_ms=None, saves=True, save_every_ms=100, save_cost_ms=10, stop_ms=20)]})
    fake.send(start())
    fake.send(AskCheckpoint(job=JOB, attempt=1, generation=2))
    fake.advance(100)
    fake.send(AskCheckpoint(job=JOB, attempt=1, generation=3))
    fake.send(stop(generation=4))
    fake.advance(1_000)
    saves = [event for event in heard(fake) if isinstance(event, CheckpointSaved)]
    assert [(event.at_ms, event.cost_ms) for event in saves] == [(100, 10), (110, 10), (110, 10)]


def test_the_fake_answers_no_request_to_save_when_it_cannot() -> None:
    fake = FakeBackend({JOB: [RUNS_ON]})
    fake.send(AskCheckpoint(job=JOB, attempt=1, generation=1))
    fake.send(start())
    fake.advance(1_000)
    assert heard(fake) == up()
    fake.send(AskCheckpoint(job=JOB, attempt=1, generation=2))
    fake.advance(2_000)
    assert heard(fake) == []
    assert fake.alive(JobId("other")) == ()


def test_a_node_of_the_fake_is_missed_late_and_can_return() -> None:
    fake = FakeBackend({JOB: [GangScript(start_ms=5, run_ms=None)]})
    fake.send(start())
    fake.lose_node(NodeName("n1"), noticed_after_ms=30)
    fake.advance(29)
    assert heard(fake) == up(0, at_ms=5)
    fake.advance(30)
    assert heard(fake) == [NodeLost(at_ms=30, node=NodeName("n1"), because="lost")]
    node = Node(name=NodeName("n1"))
    fake.return_node(node)
    assert heard(fake) == [NodeChanged(at_ms=30, node=node, because="returned")]
    fake.lose_node(NodeName("n1"), noticed_after_ms=30)
    fake.return_node(node)
    assert [type(event) for event in heard(fake)] == [NodeLost, NodeChanged]
    fake.advance(100)
    assert heard(fake) == []
    fake.send(stop(0, generation=7))
    fake.send(start(1, generation=6))
    assert [command.generation for command in fake.refused] == [6]
