"""What has ended leaves the state, and can be asked about all the same."""

from collections.abc import Sequence

import pytest

from muster.backends.fake import GangScript
from muster.core.admission import Rejected
from muster.engine.engine import Submitted
from muster.engine.submissions import NUMBERS_LOOKED_UP
from muster.model.array import ArrayRecord, JobRecord
from muster.model.errors import Conflict, InvalidInput, KeyReused, NotFound
from muster.model.events import GangsFound, NodeLost
from muster.model.ids import JobId, NodeName
from muster.model.job import Cause, JobState, Worker
from muster.model.machines.quarantine import FoundGang
from muster.model.spec import ArraySpec, Dependency, DependencyWhen
from muster.store.memory import MemoryLog
from tests.builders import a_job
from tests.unit.engine.test_quarantine import a_found_gang, ended, found
from tests.unit.engine.world import FOREVER, World, a_small_cluster

SHORT, FAILING = GangScript(run_ms=1_000), GangScript(run_ms=1_000, exit_code=3)
N1 = NodeName("n1")


def a_world() -> World:
    log = MemoryLog()
    return World(log=log, archive=log)


def test_only_what_is_alive_is_in_the_state() -> None:
    world = a_world()
    ended = world.submit(a_job(), SHORT)
    array = world.submit(a_job(array=ArraySpec(indices=(0, 1), concurrency=1)), SHORT)
    alive = world.submit(a_job(depends_on=(Dependency(job=ended), Dependency(job=array))), FOREVER)
    world.run(1_500)
    state = world.engine.state
    assert set(state.jobs) == {f"{array}.0", f"{array}.1", alive}  # a task stays as long as its array
    world.run(60_000)
    assert (set(state.jobs), state.arrays, state.array_specs) == ({alive}, {}, {})
    assert world.engine.record(ended).state is JobState.SUCCEEDED
    assert isinstance(world.engine.record(array), ArrayRecord)
    world.engine.cancel(alive, world.now_ms)
    world.run(120_000)
    assert (state.jobs, state.dependents, state.keys, state.key_of) == ({}, {}, {}, {})


@pytest.mark.parametrize("is_restarted", [False, True])
def test_each_task_waits_for_the_task_with_its_index_alone(is_restarted: bool) -> None:
    world = a_world()
    first = world.submit(a_job(array=ArraySpec(indices=(0, 1, 2), concurrency=1)), SHORT)
    same = Dependency(job=first, same_task=True)
    second = world.submit(a_job(array=ArraySpec(indices=(0, 1, 2)), depends_on=(same,)), SHORT)
    if is_restarted:
        world = world.restarted()
    state = world.engine.state

    def unmet(index: int) -> tuple[JobId, ...]:
        return state.jobs[JobId(f"{second}.{index}")].unmet

    assert [unmet(index) for index in range(3)] == [(f"{first}.{index}",) for index in range(3)]
    world.engine.cancel(JobId(f"{first}.2"), world.now_ms)
    doomed = world.engine.job(JobId(f"{second}.2"))
    assert (doomed.state, doomed.cause) == (JobState.CANCELLED, Cause.DEPENDENCY)
    while state.jobs[JobId(f"{first}.0")].state is not JobState.SUCCEEDED:
        world.run(world.now_ms + 100)
    assert (unmet(0), unmet(1)) == ((), (f"{first}.1",))
    world.run(60_000)
    assert [world.engine.record(JobId(f"{second}.{index}")).state for index in range(2)] == [JobState.SUCCEEDED] * 2
    if not is_restarted:  # the other world has no archive, and forgets nothing
        assert (state.jobs, state.arrays, state.dependents) == ({}, {}, {})


def test_a_task_that_waits_for_one_that_has_ended_already_starts_or_never_will() -> None:
    world = a_world()
    first = world.submit(a_job(array=ArraySpec(indices=(0, 1))), FAILING)
    third = world.submit(a_job(array=ArraySpec(indices=(0, 1))), SHORT)
    world.run(10_000)
    for other, expected in ((first, JobState.CANCELLED), (third, JobState.QUEUED)):
        depends_on = (Dependency(job=other, same_task=True),)
        second = world.submit(a_job(array=ArraySpec(indices=(0, 1)), depends_on=depends_on), FOREVER)
        assert {world.engine.record(JobId(f"{second}.{index}")).state for index in (0, 1)} == {expected}


def test_only_arrays_wait_task_by_task() -> None:
    world = a_world()
    single = world.submit(a_job(), FOREVER)
    array = world.submit(a_job(array=ArraySpec(indices=(0, 1))), FOREVER)
    for depends_on, indices in ((single, (0, 1)), (array, None)):
        spec = a_job(
            array=None if indices is None else ArraySpec(indices=indices),
            depends_on=(Dependency(job=depends_on, same_task=True),),
        )
        waiting = world.submit(spec, FOREVER)
        assert world.engine.record(waiting).spec.depends_on == (Dependency(job=depends_on),)
    wanted = a_job(array=ArraySpec(indices=(1, 5)), depends_on=(Dependency(job=array, same_task=True),))
    with pytest.raises(InvalidInput, match=f"{array} with its index, which has no 5"):
        world.engine.submit(wanted, world.now_ms)


def test_a_request_that_comes_again_under_the_key_of_an_ended_job_is_told_of_it() -> None:
    world = a_world()
    first = world.engine.submit(a_job(), 0, by="ann", key="k", fingerprint="f")
    assert isinstance(first, Submitted)
    world.engine.cancel(first.job, 0)
    assert not world.engine.state.keys
    again = world.engine.submit(a_job(), 0, by="ann", key="k", fingerprint="f")
    assert again == Submitted(job=first.job, is_new=False)
    with pytest.raises(KeyReused):
        world.engine.submit(a_job(), 0, by="ann", key="k", fingerprint="another")


def test_jobs_may_depend_on_what_has_ended() -> None:
    world = a_world()
    good, bad = world.submit(a_job(), SHORT), world.submit(a_job(), FAILING)
    world.run(5_000)
    assert not world.engine.state.jobs
    for dependency, expected in (
        (Dependency(job=good), JobState.RUNNING),
        (Dependency(job=bad, when=DependencyWhen.FAILED), JobState.RUNNING),
        (Dependency(job=bad), JobState.CANCELLED),
    ):
        job = world.submit(a_job(depends_on=(dependency,)), FOREVER)
        world.settle()
        assert world.engine.record(job).state is expected
    answer = world.engine.submit(a_job(depends_on=(Dependency(job=JobId("nobody")),)), world.now_ms)
    assert isinstance(answer, Rejected)


def test_an_id_is_never_used_again_and_what_has_ended_cannot_be_changed() -> None:
    world = a_world()
    job = world.submit(a_job(), SHORT)
    world.run(5_000)
    with pytest.raises(Conflict, match="already"):
        world.engine.submit(a_job(), world.now_ms, job=job)
    assert not world.engine.cancel(job, world.now_ms)
    assert not world.engine.hold(job, world.now_ms)
    with pytest.raises(NotFound):
        world.engine.cancel(JobId("nobody"), world.now_ms)


def test_the_failed_tasks_of_an_ended_array_can_be_tried_again() -> None:
    world = a_world()
    array = world.submit(a_job(array=ArraySpec(indices=(3, 4))), SHORT)
    world.backend.script(JobId(f"{array}.4"), FAILING)
    world.run(60_000)
    assert not world.engine.state.arrays
    again = world.engine.retry_failed(array, world.now_ms)
    assert isinstance(again, Submitted)
    record = world.engine.record(again.job)
    assert record.spec.array is not None
    assert record.spec.array.indices == (4,)


def test_a_gang_of_an_ended_job_that_is_found_running_is_not_taken_for_a_new_job() -> None:
    world = a_world()
    job = world.submit(a_job(), SHORT)
    world.run(5_000)
    gang = FoundGang(
        job=job,
        attempt=1,
        generation=9,
        workers=(Worker(rank=0, role="worker", node=N1, gpus=(0,)),),
        spec=a_job(),
    )
    world.engine.observe(GangsFound(at_ms=world.now_ms, node=N1, gangs=(gang,)))
    assert world.engine.state.quarantine.on(N1) == (gang,)
    with pytest.raises(Conflict, match="is succeeded here"):
        world.engine.adopt(job, world.now_ms)


def test_a_job_that_a_lost_node_is_to_kill_is_known_until_the_node_was_told() -> None:
    log = MemoryLog()
    world = World(a_small_cluster(1, 2), log=log, archive=log)
    job = world.submit(a_job(), FOREVER)
    world.settle()
    world.engine.observe(NodeLost(at_ms=world.now_ms, node=N1, because="off"))
    world.engine.cancel(job, world.now_ms)
    assert world.engine.state.jobs[job].state is JobState.CANCELLED
    assert [kill.job for kill in world.engine.state.kills_on(N1)] == [job]


def test_an_engine_that_starts_again_forgets_what_ended_too() -> None:
    world = a_world()
    world.submit(a_job(), SHORT)
    alive = world.submit(a_job(), FOREVER)
    world.run(5_000)
    assert isinstance(world.log, MemoryLog)
    again = World(world.scenario, log=world.log, archive=world.log)
    assert set(again.engine.state.jobs) == {alive}


def test_a_task_that_a_lost_node_is_to_kill_keeps_its_array() -> None:
    log = MemoryLog()
    world = World(a_small_cluster(2, 1), log=log, archive=log)
    array = world.submit(a_job(array=ArraySpec(indices=(0, 1))), FOREVER)
    world.settle()
    struck = next(job for job in world.engine.state.jobs.values() if job.workers[0].node == N1)
    world.engine.observe(NodeLost(at_ms=world.now_ms, node=N1, because="off"))
    world.engine.cancel(array, world.now_ms)
    world.run(world.now_ms + 600_000)
    assert world.engine.state.jobs[struck.id].state is JobState.CANCELLED
    assert [kill.job for kill in world.engine.state.kills_on(N1)] == [struck.id]


def test_one_look_into_the_archive_gives_ids_to_many_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    world, looks = a_world(), list[tuple[JobId, ...]]()
    assert isinstance(world.log, MemoryLog)
    find = world.log.find

    def noting(jobs: Sequence[JobId]) -> dict[JobId, JobRecord]:
        looks.append(tuple(jobs))
        return find(jobs)

    monkeypatch.setattr(world.log, "find", noting)
    for _ in range(NUMBERS_LOOKED_UP + 1):
        world.submit(a_job(), FOREVER)
    assert [(each[0], len(each)) for each in looks] == [("job-1", NUMBERS_LOOKED_UP), ("job-201", NUMBERS_LOOKED_UP)]


def test_an_ended_job_whose_caller_chose_a_coming_number_keeps_it() -> None:
    world = a_world()
    assert world.submit(a_job(), FOREVER) == "job-1"
    chosen = world.engine.submit(a_job(), world.now_ms, job=JobId("job-4"))
    assert isinstance(chosen, Submitted)
    world.engine.cancel(chosen.job, world.now_ms)
    assert chosen.job not in world.engine.state.jobs
    assert [world.submit(a_job(), FOREVER) for _ in range(3)] == ["job-3", "job-5", "job-6"]


def test_a_gang_that_was_adopted_keeps_its_number_when_it_has_ended() -> None:
    world, adopted = a_world(), JobId("job-5")
    assert world.submit(a_job(), FOREVER) == "job-1"  # looks up the coming numbers
    found(world, a_found_gang(adopted, spec=a_job(gpus=2)))
    world.engine.adopt(adopted, world.now_ms, by="olga")
    assert world.submit(a_job(), FOREVER) == "job-3"
    ended(world, adopted)
    assert adopted not in world.engine.state.jobs
    assert [world.submit(a_job(), FOREVER) for _ in range(2)] == ["job-4", "job-6"]
