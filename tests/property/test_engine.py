"""Whatever is submitted and whatever breaks, no device has two owners, nothing is forgotten, and everything ends."""

from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.backends.fake import FakeBackend, GangScript
from muster.core.lifecycle import occupied
from muster.engine.engine import Submitted
from muster.engine.folding.folding import fold
from muster.engine.folding.state import State
from muster.model.ids import JobId, NodeName
from muster.model.job import Worker
from muster.model.node import NodeState
from muster.model.records import evolve
from muster.model.spec import ArraySpec, JobSpec, Launch, Retry
from tests.builders import a_job, a_scenario, flat
from tests.unit.engine.world import World

NODES, GPUS = 3, 4
HOUR_MS = 3_600_000

scripts = st.builds(
    GangScript,
    start_ms=st.sampled_from((0, 0, 5_000)),
    cannot_start=st.sampled_from((False, False, False, True)),
    run_ms=st.integers(1, 3 * HOUR_MS),
    exit_code=st.sampled_from((0, 0, 0, 1)),
    crash_rank=st.none() | st.integers(0, 3),
    crash_ms=st.integers(0, HOUR_MS),
    stop_ms=st.none() | st.integers(0, 200_000),
    stop_exit_code=st.sampled_from((0, 1)),
    saves=st.booleans(),
    save_cost_ms=st.integers(0, 60_000),
)


@st.composite
def specs(draw: st.DrawFn) -> JobSpec:
    workers = draw(st.integers(1, 3))
    spec = a_job(
        gpus=draw(st.sampled_from((0.5, 1, 2, 4))),
        workers=(workers, draw(st.integers(workers, 5))),
        tier=draw(st.sampled_from(("production", "standard", "exploratory"))),
        checkpoint=draw(st.booleans()),
        hours=draw(st.integers(1, 4)),
        launch=draw(st.sampled_from((Launch.PLAIN, Launch.TORCHFT))),
        retry=Retry(limit=draw(st.integers(0, 2))),
    )
    return evolve(spec, array=draw(st.none() | st.just(ArraySpec(indices=(0, 1, 2), concurrency=2))))


@dataclass(frozen=True, kw_only=True)
class Happening:
    """Something that comes from outside."""

    after_ms: int
    kind: str
    spec: JobSpec
    scripts: tuple[GangScript, ...]
    pick: int


happenings = st.builds(
    Happening,
    after_ms=st.sampled_from((0, 0, 1_000, 20_000, 600_000, HOUR_MS)),
    kind=st.sampled_from(("submit", "submit", "submit", "cancel", "hold", "lose", "return", "drain", "restart")),
    spec=specs(),
    scripts=st.lists(scripts, min_size=1, max_size=3).map(tuple),
    pick=st.integers(0, 9),
)


def happen(world: World, what: Happening) -> World:
    """Let it happen; a restart gives a new world."""
    jobs = sorted(world.engine.state.jobs)
    node = NodeName(f"n{1 + what.pick % NODES}")
    match what.kind:
        case "submit":
            answer = world.engine.submit(what.spec, world.now_ms)
            if isinstance(answer, Submitted):
                for task in world.engine.state.addressed(answer.job):
                    world.backend.script(task, *what.scripts)
        case "cancel" if jobs:
            world.engine.cancel(jobs[what.pick % len(jobs)], world.now_ms)
        case "hold" if jobs:
            world.engine.hold(jobs[what.pick % len(jobs)], world.now_ms)
        case "lose":
            world.backend.lose_node(node, noticed_after_ms=1_000 * what.pick)
        case "return":
            _set_state(world, node, NodeState.READY)
        case "drain":
            _set_state(world, node, NodeState.DRAINING)
        case "restart":
            return world.restarted()
        case _:
            pass
    return world


def _set_state(world: World, node: NodeName, state: NodeState) -> None:
    world.backend.return_node(evolve(world.engine.state.nodes[node], state=state))


def shares(workers: Iterable[Worker]) -> dict[tuple[NodeName, int], int]:
    """Thousandths in use of each device."""
    used: dict[tuple[NodeName, int], int] = {}
    for worker in workers:
        for gpu in worker.gpus:
            used[worker.node, gpu] = used.get((worker.node, gpu), 0) + (worker.share_milli or 1000)
    return used


def check(world: World) -> None:
    assert world.dropped == []
    state = world.engine.state
    owned = shares(worker for job in state.occupying for worker in occupied(state.jobs[job]))
    assert all(share <= 1000 for share in owned.values())
    alive = shares(worker for _, worker in world.backend.seated())
    assert all(share <= owned.get(device, 0) for device, share in alive.items())
    scenario = state.snapshot.scenario(world.now_ms)
    assert shares(worker for job in scenario.running for worker in job.workers) == owned
    assert {job.id for job in scenario.running if job.id in state.jobs} == set(state.occupying)
    for tally in state.arrays.values():
        under_way = [task for task in tally.tasks if not state.jobs[task].awaits_turn]
        assert sum(not state.jobs[task].state.is_final for task in under_way) <= 2


@settings(max_examples=60, deadline=None, derandomize=True)
@given(play=st.lists(happenings, min_size=1, max_size=12))
def test_no_device_has_two_owners_and_everything_ends(play: list[Happening]) -> None:
    world = World(a_scenario(flat(NODES, gpus=GPUS), now_ms=0), backend=FakeBackend())
    for what in play:
        world = happen(world, what)
        world.run(until_ms=world.now_ms + what.after_ms)
        check(world)
    for number in range(NODES):
        _set_state(world, NodeName(f"n{1 + number}"), NodeState.READY)
    world.settle()
    for job in sorted(world.engine.state.jobs):
        world.engine.release(job, world.now_ms)
    world.run(until_ms=world.now_ms + 3_000 * HOUR_MS)
    check(world)
    assert {job.state.is_final for job in world.engine.state.jobs.values()} <= {True}
    check_replay(world)


def check_replay(world: World) -> None:
    """The log alone gives the same state."""
    replayed = State(world.scenario)
    for event in world.log.read():
        assert fold(replayed, event).is_change
    assert replayed.jobs == world.engine.state.jobs
    assert replayed.version == world.log.version
    assert replayed.snapshot.scenario(world.now_ms) == world.engine.state.snapshot.scenario(world.now_ms)


def test_the_same_play_gives_the_same_log() -> None:
    """Nothing depends on the order of a set or on the process."""
    logs = []
    for _ in range(2):
        world = World(a_scenario(flat(NODES, gpus=GPUS), now_ms=0), backend=FakeBackend())
        for number in range(20):
            spec = a_job(gpus=1 + number % 3, tier=("standard", "exploratory", "production")[number % 3], hours=2)
            world.submit(spec, GangScript(run_ms=HOUR_MS, crash_rank=number % 4), job=f"job-{number}")
        world.run(until_ms=2 * HOUR_MS)
        world.backend.lose_node(NodeName("n2"))
        world.run(until_ms=50 * HOUR_MS)
        logs.append([repr(event) for event in world.log.read()])
    assert logs[0] == logs[1]
    assert JobId("job-0") in world.engine.state.jobs
