"""Bugs that the fault campaign found in the engine; each test says what should be so."""

import pytest

from muster.backends.fake import FakeBackend, GangScript
from muster.model.events import (
    CheckpointRemoved,
    CheckpointSaved,
    HoldsSet,
    ObservedEvent,
    ShardsSaved,
    WorkersExited,
)
from muster.model.ids import JobId, NodeName
from muster.model.job import JobState
from muster.model.policy import MINUTE_MS
from muster.model.spec import Launch
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World, a_small_cluster

BOTH_WAYS = pytest.mark.parametrize("launch", [Launch.TORCHRUN, Launch.PLAIN])
"""Elastic jobs that change their size in place, and those that start again for it."""


class DeafBackend(FakeBackend):
    """Loses every report of an exit until told otherwise."""

    is_deaf = True

    def poll(self) -> tuple[ObservedEvent, ...]:
        return tuple(each for each in super().poll() if not (self.is_deaf and isinstance(each, WorkersExited)))


@BOTH_WAYS
def test_a_promise_is_not_renewed_every_millisecond_while_a_kill_is_unconfirmed(launch: Launch) -> None:
    world = World(a_small_cluster(1, 4), backend=DeafBackend())
    spec = a_job(workers=(1, 4), checkpoint=True, hours=100, launch=launch)
    elastic = world.submit(spec, GangScript(run_ms=None, stop_ms=None))
    world.settle()
    world.submit(a_job(gpus=2, hours=1, tier="production"), FOREVER)
    world.settle()
    assert world.engine.job(elastic).leaving or world.engine.job(elastic).next_gang
    grace_ms = world.engine.job(elastic).grace_ms
    world.run(until_ms=grace_ms)
    before = len(world.events(HoldsSet))
    for later_ms in range(1, 20):
        world.run(until_ms=grace_ms + later_ms)
    assert len(world.events(HoldsSet)) <= before + 1


def test_nothing_is_promised_on_workers_that_cannot_be_given_up() -> None:
    world = World(a_small_cluster(1, 4))
    ends_first = GangScript(run_ms=None, crash_rank=None)
    elastic = world.submit(a_job(workers=(1, 4), checkpoint=True, hours=100, launch=Launch.TORCHFT), ends_first)
    world.settle()
    record = world.engine.job(elastic)
    done = WorkersExited(at_ms=MINUTE_MS, job=elastic, attempt=1, generation=record.generation, ranks=(3,), exit_code=0)
    world.backend.advance(MINUTE_MS)
    world.engine.observe(done)
    waits = world.submit(a_job(gpus=2, hours=1), FOREVER)
    promised = []
    for minutes in range(2, 12):
        world.run(until_ms=minutes * MINUTE_MS)
        if world.state_of(waits) is JobState.QUEUED and waits in world.engine.state.snapshot.promises:
            promised.append(world.engine.state.snapshot.promises[waits].start_ms)
    assert promised == sorted(promised, reverse=True), "its promised start moves later and later"


def test_a_save_that_is_reported_late_is_as_old_as_it_is() -> None:
    world = World()
    job = world.submit(a_job(checkpoint=True), FOREVER)
    world.settle()
    world.backend.advance(10 * MINUTE_MS)
    world.submit(a_job(), FOREVER)
    world.engine.observe(CheckpointSaved(at_ms=MINUTE_MS, job=job, attempt=1))
    assert world.engine.job(job).checkpointed_ms == MINUTE_MS


def _part(job: JobId, step: int, at_ms: int) -> ShardsSaved:
    return ShardsSaved(at_ms=at_ms, job=job, attempt=1, node=NodeName("n1"), step=step, world=1, ranks=(0,))


def test_a_part_that_is_reported_late_is_as_old_as_it_is() -> None:
    world = World()
    job = world.submit(a_job(checkpoint=True), FOREVER)
    world.settle()
    world.backend.advance(10 * MINUTE_MS)
    world.submit(a_job(), FOREVER)
    world.engine.observe(_part(job, 10, MINUTE_MS))
    assert world.engine.job(job).checkpointed_ms == MINUTE_MS


def test_planning_hears_that_a_checkpoint_was_removed() -> None:
    world = World()
    job = world.submit(a_job(checkpoint=True), FOREVER)
    world.settle()
    for step in (1, 2):
        world.engine.observe(_part(job, step, step * MINUTE_MS))
    running = world.engine.state.snapshot.running
    assert running[job].checkpointed_ms == 2 * MINUTE_MS
    world.engine.observe(CheckpointRemoved(at_ms=3 * MINUTE_MS, job=job, step=2))
    assert running[job].checkpointed_ms == MINUTE_MS
    world.engine.observe(CheckpointRemoved(at_ms=3 * MINUTE_MS, job=job, step=1))
    assert running[job].checkpointed_ms is None


@BOTH_WAYS
def test_a_promise_is_not_renewed_every_millisecond_when_the_job_that_shrank_is_cancelled(launch: Launch) -> None:
    world = World(a_small_cluster(2, 1), backend=DeafBackend())
    ignores = GangScript(run_ms=None, stop_ms=None)
    elastic = world.submit(
        a_job(workers=(1, 2), checkpoint=True, hours=100, tier="exploratory", launch=launch), ignores
    )
    world.run(until_ms=20 * MINUTE_MS)
    waits = world.submit(a_job(hours=1, tier="production"), FOREVER)
    world.settle()
    assert world.engine.job(elastic).leaving or world.engine.job(elastic).next_gang
    gone_ms = world.now_ms + world.engine.job(elastic).grace_ms
    world.run(until_ms=gone_ms - 1_000)
    world.engine.cancel(elastic, world.now_ms)
    world.run(until_ms=gone_ms)
    before = len(world.events(HoldsSet))
    for later_ms in range(1, 20):
        world.run(until_ms=gone_ms + later_ms)
    assert world.state_of(waits) is JobState.QUEUED
    assert len(world.events(HoldsSet)) <= before + 1
