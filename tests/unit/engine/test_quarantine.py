"""A node runs what the database does not know: nothing of it is ignored, given out again or taken for something new."""

import pytest

from muster.model.errors import Conflict, NotFound
from muster.model.events import GangKillOrdered, GangsFound, NodeLost, NodeReturned, NodeUnreachable, WorkersExited
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, KillWorkers, StartWorkers
from muster.model.job import Cause, JobState, Worker
from muster.model.machines.quarantine import FoundGang, SeenJob
from muster.model.records import evolve
from muster.model.spec import Dependency, JobSpec
from tests.builders import a_job
from tests.unit.engine.world import FOREVER, World, a_small_cluster

N1 = NodeName("n1")
OLD = JobId("job-7")


def a_found_gang(
    job: JobId = OLD, *, attempt: int = 1, gpus: tuple[int, ...] = (0, 1), spec: JobSpec | None = None, ranks: int = 1
) -> FoundGang:
    workers = tuple(Worker(rank=rank, role="worker", node=N1, gpus=gpus) for rank in range(ranks))
    return FoundGang(job=job, attempt=attempt, generation=3, workers=workers, spec=spec)


def found(world: World, *gangs: FoundGang, seen: tuple[SeenJob, ...] = ()) -> int:
    return world.engine.observe(GangsFound(at_ms=world.now_ms, node=N1, gangs=gangs, seen=seen))


def ended(world: World, job: JobId = OLD, *, attempt: int = 1) -> None:
    event = WorkersExited(at_ms=world.now_ms, job=job, attempt=attempt, generation=3, ranks=(0,), exit_code=137)
    world.engine.observe(event)


def test_its_gpus_are_busy_until_it_has_ended() -> None:
    world = World()
    assert found(world, a_found_gang())
    job = world.submit(a_job(gpus=2, workers=2), FOREVER)
    world.settle()
    assert world.state_of(job) is JobState.QUEUED
    ended(world)
    world.settle()
    assert world.state_of(job) is JobState.RUNNING
    assert not world.engine.state.quarantine


def test_a_node_that_says_the_same_again_says_nothing_new() -> None:
    world = World()
    assert found(world, a_found_gang()) == 1
    assert found(world, a_found_gang()) == 0
    assert found(world) == 1
    assert found(world) == 0


def test_what_was_started_from_here_is_not_in_quarantine() -> None:
    world = World()
    job = world.submit(a_job(gpus=2), FOREVER)
    world.settle()
    record = world.engine.job(job)
    gang = FoundGang(job=job, attempt=1, generation=record.generation, workers=record.workers, spec=record.spec)
    assert record.workers[0].node == N1
    assert found(world, gang) == 0


def test_a_new_job_never_gets_the_number_of_what_runs_somewhere() -> None:
    world = World()
    found(world, a_found_gang(JobId("job-1")))
    assert world.submit(a_job(gpus=1), FOREVER) == "job-2"


def test_a_job_of_which_something_runs_unknown_does_not_start_until_that_is_gone() -> None:
    world = World()
    job = world.submit(a_job(gpus=1), FOREVER, held=True)
    found(world, a_found_gang(job, attempt=2, spec=world.engine.job(job).spec))
    world.engine.release(job, world.now_ms)
    world.settle()
    assert world.state_of(job) is JobState.BLOCKED
    ended(world, job, attempt=2)
    world.settle()
    record = world.engine.job(job)
    assert (record.state, record.attempt) == (JobState.RUNNING, 3)
    assert record.generation > 3


def test_attempts_go_on_above_what_a_node_has_merely_heard_of() -> None:
    world = World()
    job = world.submit(a_job(gpus=1), FOREVER, held=True)
    assert found(world, seen=(SeenJob(job=job, attempt=4, generation=9),)) == 1
    assert found(world, seen=(SeenJob(job=job, attempt=4, generation=9),)) == 0
    world.engine.release(job, world.now_ms)
    world.settle()
    assert (world.engine.job(job).attempt, world.engine.job(job).generation) == (5, 10)


def test_a_job_that_runs_under_an_older_number_starts_again_above_the_newer_one() -> None:
    world = World()
    job = world.submit(a_job(gpus=1), FOREVER)
    world.settle()
    found(world, seen=(SeenJob(job=job, attempt=4, generation=9),))
    assert world.engine.job(job).attempt == 1
    world.backend.lose_node(world.engine.job(job).workers[0].node)
    world.settle()
    assert world.engine.job(job).attempt == 5


def test_it_can_be_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    found(world, a_found_gang())
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    kill = KillWorkers(job=OLD, attempt=1, generation=3, ranks=(0,))
    with world.engine.batch():
        world.engine.kill_quarantined(OLD, world.now_ms, by="olga")
        assert sent == []  # it is not in the log yet
    assert sent == [kill]
    assert any(isinstance(event, GangKillOrdered) and event.by == "olga" for event in world.log.read())
    with pytest.raises(NotFound, match="nothing of job-9 is in quarantine"):
        world.engine.kill_quarantined(JobId("job-9"), world.now_ms)


def test_a_kill_is_sent_again_to_a_node_that_may_not_have_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    found(world, a_found_gang())
    kill = KillWorkers(job=OLD, attempt=1, generation=3, ranks=(0,))
    world.engine.kill_quarantined(OLD, world.now_ms)
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    world.engine.reconnect(world.now_ms)
    assert sent == [kill]
    world.engine.observe(NodeUnreachable(at_ms=world.now_ms, node=N1, because="gone"))
    world.engine.observe(NodeReturned(at_ms=world.now_ms, node=N1, because="back"))
    assert sent == [kill, kill]
    ended(world)
    world.engine.reconnect(world.now_ms)
    assert (sent, world.engine.state.quarantine.doomed) == ([kill, kill], {})


@pytest.mark.parametrize("is_known", [True, False])
def test_it_can_be_adopted_by_its_job_or_as_a_job_that_was_forgotten(is_known: bool) -> None:
    world = World()
    spec = a_job(gpus=2)
    job = world.submit(spec, FOREVER, held=True) if is_known else OLD
    found(world, a_found_gang(job, spec=spec))
    world.engine.adopt(job, world.now_ms, by="olga")
    record = world.engine.job(job)
    assert (record.state, record.attempt, record.astray) == (JobState.RUNNING, 1, ())
    assert not world.engine.state.quarantine
    ended(world, job)
    assert world.engine.job(job).state is JobState.FAILED


def test_an_adopted_gang_does_not_wait_for_what_it_depended_on() -> None:
    """It has started, so its dependencies were met. A log that forgot this does not end it when they fail anew."""
    world = World()
    first = world.submit(a_job(gpus=1), FOREVER, held=True)
    spec = a_job(gpus=2, depends_on=(Dependency(job=first),))
    job = world.submit(spec, FOREVER)
    found(world, a_found_gang(job, spec=spec))
    world.engine.adopt(job, world.now_ms, by="olga")
    world.engine.cancel(first, world.now_ms)
    assert (world.state_of(job), world.engine.job(job).unmet) == (JobState.RUNNING, ())


@pytest.mark.parametrize(
    ("gangs", "says"),
    [
        ((a_found_gang(),), "has not kept its job file"),
        ((a_found_gang(spec=a_job(gpus=2, workers=2)),), "1 of 2 workers"),
        ((a_found_gang(spec=a_job(gpus=2)), a_found_gang(attempt=2)), "several attempts"),
        ((a_found_gang(spec=a_job(gpus=2, tier="gone")),), "tier gone, which does not exist"),
    ],
    ids=["unknown", "partial", "two attempts", "no tier"],
)
def test_what_cannot_be_adopted_is_refused_with_what_else_to_do(gangs: tuple[FoundGang, ...], says: str) -> None:
    world = World()
    found(world, *gangs)
    with pytest.raises(Conflict, match=says) as refused:
        world.engine.adopt(OLD, world.now_ms)
    assert "muster quarantine kill" in str(refused.value)


def test_a_job_that_ended_here_is_not_brought_back_to_life() -> None:
    world = World()
    job = world.submit(a_job(gpus=2), FOREVER, held=True)
    world.engine.cancel(job, world.now_ms)
    found(world, a_found_gang(job, spec=world.engine.job(job).spec))
    with pytest.raises(Conflict, match="is cancelled here"):
        world.engine.adopt(job, world.now_ms)


def test_a_lost_node_takes_what_was_in_quarantine_there_with_it() -> None:
    world = World()
    job = world.submit(a_job(gpus=1), FOREVER, held=True)
    found(world, a_found_gang(job, attempt=2, spec=world.engine.job(job).spec))
    world.engine.release(job, world.now_ms)
    assert world.state_of(job) is JobState.BLOCKED
    assert world.engine.observe(NodeLost(at_ms=world.now_ms, node=N1, because="switched off")) == 1
    assert (world.state_of(job), world.engine.job(job).astray) == (JobState.QUEUED, ())
    assert not world.engine.state.quarantine
    assert world.engine.observe(NodeLost(at_ms=world.now_ms, node=N1, because="switched off")) == 0


def test_what_a_node_refused_as_too_old_is_sent_again_above_what_it_has_heard_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    job = world.submit(a_job(gpus=1), FOREVER)
    world.settle()
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    found(world, seen=(SeenJob(job=job, attempt=1, generation=9),))
    assert [(type(command), command.attempt, command.generation) for command in sent] == [(StartWorkers, 1, 9)]
    found(world, seen=(SeenJob(job=job, attempt=1, generation=9),))
    assert len(sent) == 1


@pytest.mark.parametrize(("share_milli", "is_refused"), [(None, True), (500, False), (501, True)])
def test_a_gang_is_not_adopted_on_gpus_that_belong_to_another_job_here(
    share_milli: int | None, is_refused: bool
) -> None:
    world = World()
    holder = world.submit(a_job(gpus=0.5) if share_milli else a_job(gpus=1), FOREVER)
    world.settle()
    seat = world.engine.job(holder).workers[0]
    spec = a_job(gpus=share_milli / 1000) if share_milli else a_job(gpus=1)
    worker = Worker(rank=0, role="worker", node=seat.node, gpus=seat.gpus, share_milli=share_milli)
    gang = FoundGang(job=OLD, attempt=1, generation=3, workers=(worker,), spec=spec)
    world.engine.observe(GangsFound(at_ms=world.now_ms, node=seat.node, gangs=(gang,)))
    if not is_refused:
        world.engine.adopt(OLD, world.now_ms)
        assert world.state_of(OLD) is JobState.RUNNING
        return
    with pytest.raises(Conflict, match=f"GPUs of {OLD} belong to {holder} here"):
        world.engine.adopt(OLD, world.now_ms)


def test_a_loss_that_says_nothing_new_leaves_no_trace() -> None:
    world = World()
    for event in (
        NodeUnreachable(at_ms=1_000, node=N1, because="its supervisor has ended"),
        NodeLost(at_ms=2_000, node=N1, because="swept"),
    ):
        world.engine.observe(event)
    version, lost = world.engine.state.version, dict(world.engine.state.lost)
    assert (version, lost) == (1, {})


def test_a_new_worker_never_gets_the_rank_of_one_that_a_node_has_heard_of() -> None:
    """The node would report the old process, or its end, as the new worker's."""
    world = World(a_small_cluster(nodes=2))
    job = world.submit(a_job(gpus=1, workers=(1, 4)), FOREVER)
    world.settle()
    before = world.engine.job(job)
    seen = SeenJob(job=job, attempt=1, generation=before.generation, next_rank=before.next_rank + 3)
    assert found(world, seen=(seen,)) == 1
    assert found(world, seen=(seen,)) == 0
    assert world.engine.job(job).next_rank == before.next_rank + 3


def test_only_what_is_unknown_of_a_gang_is_in_quarantine() -> None:
    world = World()
    job = world.submit(a_job(gpus=1), FOREVER)
    world.settle()
    record = world.engine.job(job)
    stray = Worker(rank=record.next_rank, role="worker", node=N1, gpus=(1,))
    moved = evolve(record.workers[0], gpus=(1,))
    for workers, unknown in (((*record.workers, stray), (stray,)), ((moved,), (moved,)), (record.workers, ())):
        found(world, FoundGang(job=job, attempt=1, generation=1, workers=workers, spec=record.spec))
        assert [gang.workers for gang in world.engine.state.quarantine.on(N1)] == ([unknown] if unknown else [])
        assert [each.rank for each in world.engine.job(job).astray] == [each.rank for each in unknown]


def test_a_job_is_not_cancelled_while_something_of_it_lives_in_quarantine(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    job = world.submit(a_job(gpus=2), FOREVER, held=True)
    found(world, a_found_gang(job, spec=world.engine.job(job).spec))
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    world.engine.cancel(job, world.now_ms)
    assert not world.engine.job(job).state.is_final
    assert [(type(each), each.attempt) for each in sent] == [(KillWorkers, 1)]
    with pytest.raises(Conflict, match="was given up"):
        world.engine.adopt(job, world.now_ms)
    world.engine.reconnect(world.now_ms)
    world.engine.observe(NodeUnreachable(at_ms=world.now_ms, node=N1, because="gone"))
    world.engine.observe(NodeReturned(at_ms=world.now_ms, node=N1, because="back"))
    assert sent == sent[:1] * 3  # after a restart, and to a node that is back
    ended(world, job)
    assert world.engine.job(job).state is JobState.CANCELLED


def test_a_job_that_waits_in_vain_ends_when_what_lives_of_it_in_quarantine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    first = world.submit(a_job("first", gpus=2), FOREVER, held=True)
    job = world.submit(a_job("second", gpus=2, depends_on=(Dependency(job=first),)), FOREVER)
    found(world, a_found_gang(job, spec=world.engine.job(job).spec))
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    world.engine.cancel(first, world.now_ms)
    assert world.state_of(job) is JobState.BLOCKED
    assert [(type(each), each.job) for each in sent] == [(KillWorkers, job)]
    ended(world, job)
    assert (world.state_of(job), world.engine.job(job).cause) == (JobState.CANCELLED, Cause.DEPENDENCY)


def test_what_is_adopted_has_all_its_time_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    found(world, a_found_gang(spec=a_job(gpus=2)))
    sent: list[Command] = []
    monkeypatch.setattr(world.backend, "send", sent.append)
    world.engine.adopt(OLD, world.now_ms)
    (start,) = sent
    assert isinstance(start, StartWorkers)
    record = world.engine.job(OLD)
    assert start.max_duration_ms == (record.ends_by_ms or 0) - world.now_ms


def test_what_is_adopted_grows_by_ranks_that_its_nodes_have_not_heard_of() -> None:
    world = World()
    found(world, evolve(a_found_gang(spec=a_job(gpus=2)), next_rank=5))
    world.engine.adopt(OLD, world.now_ms)
    assert world.engine.job(OLD).next_rank == 5
