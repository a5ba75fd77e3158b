"""The engine as a whole on a small cluster: jobs from submission to the end, through failures."""

import pytest

from muster.backends.fake import GangScript
from muster.model.errors import NotFound
from muster.model.events import CheckpointSaved, NodeChanged, TimerFired, WorkersStarted
from muster.model.ids import JobId, NodeName
from muster.model.job import JobState
from muster.model.node import NodeState
from muster.model.policy import MINUTE_MS
from muster.model.records import evolve
from muster.model.spec import Begin, Launch, Retry
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World, a_small_cluster

HOUR_MS = 60 * MINUTE_MS
DONE = GangScript(run_ms=HOUR_MS)
BROKEN = GangScript(run_ms=MINUTE_MS, exit_code=1)


def test_a_job_runs_from_submission_to_success() -> None:
    world = World()
    job = world.submit(a_job(workers=2, gpus=2), DONE)
    assert job == "job-1"
    assert world.state_of(job) is JobState.QUEUED
    world.settle()
    assert world.state_of(job) is JobState.RUNNING
    world.run(until_ms=HOUR_MS)
    assert world.state_of(job) is JobState.SUCCEEDED
    assert world.engine.job(job).attained_gpu_ms == 4 * HOUR_MS
    assert world.engine.next_ms is None or world.engine.next_ms > HOUR_MS


def test_jobs_wait_for_each_other_when_the_cluster_is_full() -> None:
    world = World()
    first = world.submit(a_job(workers=2, gpus=2), DONE)
    second = world.submit(a_job(workers=2, gpus=2), DONE)
    world.settle()
    assert [world.state_of(job) for job in (first, second)] == [JobState.RUNNING, JobState.QUEUED]
    world.run(until_ms=HOUR_MS)
    assert world.state_of(second) is JobState.RUNNING


def test_a_held_job_starts_when_it_is_released() -> None:
    world = World()
    job = world.submit(a_job(), DONE, held=True)
    world.settle()
    assert world.state_of(job) is JobState.HELD
    assert not world.engine.hold(job, 0)
    assert world.engine.release(job, 0)
    world.settle()
    assert world.state_of(job) is JobState.RUNNING
    assert world.engine.hold(job, 0)


def test_a_job_starts_no_sooner_than_its_user_wants() -> None:
    world = World()
    job = world.submit(a_job(begin=Begin(after_ms=HOUR_MS)), DONE)
    at_once = world.submit(a_job(begin=Begin(at_ms=0)), DONE)
    world.run(until_ms=HOUR_MS - 1)
    assert [world.state_of(each) for each in (job, at_once)] == [JobState.BLOCKED, JobState.RUNNING]
    world.run(until_ms=HOUR_MS)
    assert world.state_of(job) is JobState.RUNNING
    assert world.engine.job(job).first_started_ms == HOUR_MS


def test_a_job_gets_no_older_while_it_is_not_to_begin() -> None:
    world = World(a_small_cluster(1, 1))
    world.submit(a_job(), GangScript(run_ms=2 * HOUR_MS))
    early = world.submit(a_job(begin=Begin(after_ms=HOUR_MS)), DONE)
    world.run(until_ms=MINUTE_MS)
    later = world.submit(a_job(), DONE)
    world.run(until_ms=2 * HOUR_MS + MINUTE_MS)
    assert [world.state_of(each) for each in (early, later)] == [JobState.QUEUED, JobState.RUNNING]


def test_a_running_job_is_cancelled_and_its_gpus_are_free() -> None:
    world = World(a_small_cluster(1, 1))
    first, second = world.submit(a_job(), FOREVER), world.submit(a_job(), FOREVER)
    world.settle()
    assert world.engine.cancel(first, 0)
    world.settle()
    assert [world.state_of(job) for job in (first, second)] == [JobState.CANCELLED, JobState.RUNNING]
    assert not world.engine.cancel(first, 0)


def test_nothing_can_be_asked_for_a_job_that_does_not_exist() -> None:
    engine, unknown = World().engine, JobId("unknown")
    for request in (engine.cancel, engine.hold, engine.release):
        with pytest.raises(NotFound):
            request(unknown, 0)
    with pytest.raises(NotFound):
        engine.job(unknown)
    with pytest.raises(NotFound):
        engine.progress(unknown)
    with pytest.raises(NotFound):
        engine.retry_failed(unknown, 0)
    assert "nothing is known" in engine.story(unknown)


def test_a_failing_job_is_tried_again_and_given_up() -> None:
    world = World()
    job = world.submit(evolve(a_job(), retry=Retry(limit=2)), BROKEN)
    world.run(until_ms=HOUR_MS)
    record = world.engine.job(job)
    assert (record.state, record.attempt, record.retries_used) == (JobState.FAILED, 3, 2)


def test_a_job_is_told_and_killed_in_time_for_its_maximum_duration() -> None:
    world = World()
    job = world.submit(a_job(hours=1), GangScript(run_ms=None, stop_ms=None))
    world.run(until_ms=HOUR_MS - 30_001)
    assert world.state_of(job) is JobState.RUNNING
    world.run(until_ms=HOUR_MS - 1)
    assert world.state_of(job) is JobState.STOPPING
    world.run(until_ms=HOUR_MS)
    assert world.state_of(job) is JobState.TIMED_OUT
    assert [event.at_ms for event in world.events(TimerFired)] == [HOUR_MS - 30_000, HOUR_MS]


def test_a_lost_node_costs_one_restart_elsewhere() -> None:
    world = World(a_small_cluster(3, 2))
    job = world.submit(a_job(workers=2, gpus=2), FOREVER)
    world.settle()
    used = [worker.node for worker in world.engine.job(job).workers]
    world.backend.lose_node(used[1])
    world.settle()
    record = world.engine.job(job)
    assert (record.state, record.attempt, record.node_failures) == (JobState.RUNNING, 2, 1)
    assert used[1] not in [worker.node for worker in record.workers]


def test_a_gpu_that_went_bad_costs_no_retry() -> None:
    world = World()
    job = world.submit(a_job(workers=2, gpus=1), BROKEN, DONE)
    world.settle()
    node = world.engine.job(job).workers[0].node
    broken = evolve(world.engine.state.nodes[node], bad_gpus=world.engine.job(job).workers[0].gpus)
    world.engine.observe(NodeChanged(at_ms=world.now_ms, node=broken, because="it fell off the bus"))
    world.run(2 * HOUR_MS)
    after = world.engine.job(job)
    assert (after.state, after.attempt, after.retries_used, after.node_failures) == (JobState.SUCCEEDED, 2, 0, 1)


def test_a_job_that_saves_is_asked_to() -> None:
    world = World()
    world.submit(a_job(checkpoint=True), GangScript(run_ms=None, saves=True, save_cost_ms=1_000))
    world.run(until_ms=HOUR_MS)
    assert [event.at_ms for event in world.events(CheckpointSaved)] == [29 * MINUTE_MS + 1_000]


@pytest.mark.parametrize(("launch", "attempts"), [(Launch.TORCHRUN, 1), (Launch.TORCHFT, 1), (Launch.PLAIN, 2)])
def test_an_elastic_job_grows_into_what_is_idle_and_shrinks_for_others(launch: Launch, attempts: int) -> None:
    world = World(a_small_cluster(1, 4))
    elastic = world.submit(a_job(workers=(1, 4), checkpoint=True, launch=launch), FOREVER)
    world.run(until_ms=30 * MINUTE_MS)
    assert len(world.engine.job(elastic).workers) == 4
    other = world.submit(a_job(workers=2, tier="production"), FOREVER)
    world.run(until_ms=40 * MINUTE_MS)
    assert world.state_of(other) is JobState.RUNNING
    record = world.engine.job(elastic)
    assert (record.state, record.attempt) == (JobState.RUNNING, attempts)
    assert [worker.rank for worker in record.workers] == [0, 1]
    assert world.backend.alive(elastic) == tuple(worker.rank for worker in record.workers)


def test_a_drained_node_gets_nothing_new() -> None:
    world = World(a_small_cluster(1, 1))
    job = world.submit(a_job(), DONE)
    world.settle()
    world.engine.observe(_drain(world))
    second = world.submit(a_job(), DONE)
    world.run(until_ms=2 * HOUR_MS)
    assert [world.state_of(each) for each in (job, second)] == [JobState.SUCCEEDED, JobState.QUEUED]
    assert world.engine.state.nodes[NodeName("n1")].state is NodeState.DRAINED


def _drain(world: World) -> NodeChanged:
    node = world.engine.state.nodes[NodeName("n1")]
    return NodeChanged(at_ms=world.now_ms, node=evolve(node, state=NodeState.DRAINING), because="maintenance")


def test_reports_that_are_no_news_are_counted_as_such() -> None:
    world = World()
    job = world.submit(a_job(), FOREVER)
    world.engine.tick(0)
    report = WorkersStarted(at_ms=0, job=job, attempt=1, generation=1, ranks=(0,))
    assert world.engine.observe(report, report) == 1


def test_the_story_of_a_job_is_told_from_the_log() -> None:
    world = World()
    job = world.submit(evolve(a_job(), retry=Retry(limit=1)), BROKEN)
    other = world.submit(a_job(), DONE)
    world.run(until_ms=MINUTE_MS)
    world.engine.hold(job, MINUTE_MS)
    story = world.engine.story(job)
    lines = [line.split("ms  ")[1].split("(")[0] for line in story.splitlines()]
    assert lines == [
        "JobSubmitted",
        "JobStarted",
        "WorkersStarted",
        "WorkersExited",
        "JobStarted",
        "WorkersStarted",
        "JobHeld",
    ]
    assert "queued -> starting, generation 1 + StartWorkers + WakeAt" in story
    assert "exit_code=1" in story
    assert other not in story


def test_the_first_job_gives_way_before_anything_has_ended() -> None:
    world = World(a_small_cluster(nodes=1))
    first = world.submit(a_job(gpus=2, checkpoint=True), FOREVER)
    world.run(until_ms=3 * HOUR_MS)
    second = world.submit(a_job(gpus=1), DONE)
    world.run(until_ms=3 * HOUR_MS + 10 * MINUTE_MS)
    assert world.state_of(second) is JobState.RUNNING
    assert world.state_of(first) is JobState.QUEUED
