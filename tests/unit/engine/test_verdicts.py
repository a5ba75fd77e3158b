"""A job that has the node of a slow or stuck rank replaced comes back without it, if it fits elsewhere."""

from muster.model.events import HangFound, NodeChanged, StragglerFound
from muster.model.ids import JobId, NodeName
from muster.model.job import Cause, JobState
from muster.model.node import NodeState
from muster.model.policy import MINUTE_MS
from muster.model.records import evolve
from muster.model.spec import Remedy
from muster.model.telemetry import Hang, Straggler
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World, a_small_cluster


def a_world(remedy: Remedy, *, nodes: int) -> tuple[World, JobId]:
    """A job with a worker on each of two nodes, and some more nodes."""
    world = World(a_small_cluster(nodes=nodes, gpus=1))
    spec = evolve(a_job(workers=2, checkpoint=True), on_straggler=remedy, on_hang=remedy)
    job = world.submit(spec, FOREVER)
    world.run(until_ms=MINUTE_MS)
    assert world.state_of(job) is JobState.RUNNING
    return world, job


def slow_on(world: World, job: JobId, rank: int = 1) -> NodeName:
    """One rank is found to be slow; returns its node."""
    worker = world.engine.state.jobs[job].workers[rank]
    straggler = Straggler(rank=rank, worker=rank, node=worker.node, slowdown_milli=1400, since_ms=0)
    world.engine.observe(
        StragglerFound(at_ms=world.now_ms, job=job, attempt=world.engine.state.jobs[job].attempt, straggler=straggler)
    )
    return worker.node


def test_the_node_of_a_slow_rank_is_suspect_and_the_job_goes_on_without_it() -> None:
    world, job = a_world(Remedy.REPLACE, nodes=3)
    kept = world.engine.state.jobs[job].workers[0].node
    node = slow_on(world, job)
    world.run(until_ms=10 * MINUTE_MS)
    record = world.engine.state.jobs[job]
    assert (record.state, record.attempt, record.stragglers) == (JobState.RUNNING, 2, ())
    used = {worker.node for worker in record.workers}
    assert kept in used
    assert node not in used
    assert world.engine.state.nodes[node].state is NodeState.SUSPECT
    assert world.engine.state.node_notes[node] == f"a rank of {job} was slower than its peers here"


def test_the_job_comes_back_to_a_suspect_node_when_there_is_no_other() -> None:
    world, job = a_world(Remedy.REPLACE, nodes=2)
    slow_on(world, job)
    world.run(until_ms=10 * MINUTE_MS)
    assert (world.engine.state.jobs[job].state, world.engine.state.jobs[job].attempt) == (JobState.RUNNING, 2)


def test_a_job_that_only_wants_to_know_goes_on_and_its_nodes_stay_ready() -> None:
    world, job = a_world(Remedy.REPORT, nodes=3)
    node = slow_on(world, job)
    world.run(until_ms=10 * MINUTE_MS)
    record = world.engine.state.jobs[job]
    assert (record.attempt, [each.rank for each in record.stragglers]) == (1, [1])
    assert world.engine.state.nodes[node].state is NodeState.READY


def test_the_node_that_a_hanging_job_waits_for_is_suspect() -> None:
    world, job = a_world(Remedy.REPLACE, nodes=3)
    node = world.engine.state.jobs[job].workers[0].node
    hang = Hang(since_ms=0, ranks=(0,), nodes=(node,))
    world.engine.observe(HangFound(at_ms=world.now_ms, job=job, attempt=1, hang=hang))
    assert world.engine.state.jobs[job].cause is Cause.HANG
    world.run(until_ms=10 * MINUTE_MS)
    assert world.engine.state.jobs[job].attempt == 2
    assert node not in {worker.node for worker in world.engine.state.jobs[job].workers}
    assert world.engine.state.node_notes[node] == f"a rank of {job} stood still here"


def test_a_node_that_is_drained_stays_drained() -> None:
    world, job = a_world(Remedy.REPLACE, nodes=3)
    node = world.engine.state.nodes[world.engine.state.jobs[job].workers[1].node]
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=evolve(node, state=NodeState.DRAINING)))
    slow_on(world, job)
    assert world.engine.state.nodes[node.name].state is NodeState.DRAINING


def test_the_same_verdict_is_written_once() -> None:
    world, job = a_world(Remedy.REPORT, nodes=2)
    slow_on(world, job)
    slow_on(world, job)
    assert len(world.events(StragglerFound)) == 1
