"""Arrays: many tasks, one id, one progress, and a cap on how many go at once."""

import pytest

from muster.core.lifecycle import created
from muster.core.lifecycle.arrays import ArrayTally, expand, failed_only
from muster.model.array import task_id
from muster.model.events import JobSubmitted
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.records import evolve
from muster.model.spec import ArraySpec, JobSpec
from tests.unit.core.lifecycle.builders import a_spec

ARRAY = JobId("job-7")


def an_array(*indices: int, concurrency: int | None = None) -> JobSpec:
    return evolve(a_spec(), env=(("A", "b"),), array=ArraySpec(indices=indices, concurrency=concurrency))


class Tasks:
    """The tasks of an array and their tally, moved by hand."""

    def __init__(self, spec: JobSpec) -> None:
        assert spec.array is not None
        self.tally = ArrayTally(ARRAY, spec.array)
        self.jobs: dict[JobId, Job] = {}
        for job in created(JobSubmitted(at_ms=0, job=ARRAY, spec=spec)):
            self.tally.move(None, job)
            self.jobs[job.id] = job

    def move(self, index: int, state: JobState) -> None:
        before = self.jobs[task_id(ARRAY, index)]
        after = evolve(before, state=state, awaits_turn=False)
        self.tally.move(before, after)
        self.jobs[after.id] = after


def test_each_task_has_its_id_and_finds_its_index_in_its_environment() -> None:
    tasks = expand(ARRAY, an_array(3, 5))
    assert [task.id for task in tasks] == ["job-7.3", "job-7.5"]
    assert tasks[1].spec.env == (("A", "b"), ("MUSTER_ARRAY_JOB", "job-7"), ("MUSTER_ARRAY_INDEX", "5"))
    assert all(task.spec.array is None for task in tasks)


def test_a_job_without_an_array_has_no_tasks() -> None:
    assert expand(ARRAY, a_spec()) == ()


@pytest.mark.parametrize(("concurrency", "waiting"), [(None, 0), (1, 3), (3, 1), (9, 0)])
def test_tasks_beyond_the_cap_await_their_turn(concurrency: int | None, waiting: int) -> None:
    tasks = expand(ARRAY, an_array(0, 1, 2, 3, concurrency=concurrency))
    assert [task.awaits_turn for task in tasks] == [False] * (4 - waiting) + [True] * waiting


def test_a_turn_comes_with_each_task_that_ends() -> None:
    tasks = Tasks(an_array(0, 1, 2, 3, 4, concurrency=2))
    assert tasks.tally.turns() == ()
    tasks.move(0, JobState.RUNNING)
    assert tasks.tally.turns() == ()
    tasks.move(0, JobState.FAILED)
    assert tasks.tally.turns() == ("job-7.2",)
    tasks.move(1, JobState.SUCCEEDED)
    assert tasks.tally.turns() == ("job-7.2", "job-7.3")
    tasks.move(2, JobState.QUEUED)
    assert tasks.tally.turns() == ("job-7.3",)


def test_a_task_that_is_put_back_in_the_queue_keeps_its_turn() -> None:
    tasks = Tasks(an_array(0, 1, concurrency=1))
    tasks.move(0, JobState.RUNNING)
    tasks.move(0, JobState.QUEUED)
    assert tasks.tally.turns() == ()
    tasks.move(0, JobState.SUCCEEDED)
    assert tasks.tally.turns() == ("job-7.1",)


def test_a_cancelled_task_is_passed_over() -> None:
    tasks = Tasks(an_array(0, 1, 2, concurrency=1))
    tasks.move(1, JobState.CANCELLED)
    assert tasks.tally.turns() == ()
    tasks.move(0, JobState.SUCCEEDED)
    assert tasks.tally.turns() == ("job-7.2",)


def test_progress_counts_states_and_percent() -> None:
    tasks = Tasks(an_array(0, 1, 2, concurrency=2))
    tasks.move(0, JobState.SUCCEEDED)
    tasks.move(1, JobState.RUNNING)
    progress = tasks.tally.progress()
    assert (progress.total, progress.percent, progress.state) == (3, 33, JobState.RUNNING)
    assert progress.counts == ((JobState.BLOCKED, 1), (JobState.RUNNING, 1), (JobState.SUCCEEDED, 1))


@pytest.mark.parametrize(
    ("endings", "whole"),
    [
        ((JobState.SUCCEEDED, JobState.SUCCEEDED), JobState.SUCCEEDED),
        ((JobState.SUCCEEDED, JobState.CANCELLED), JobState.CANCELLED),
        ((JobState.TIMED_OUT, JobState.CANCELLED), JobState.TIMED_OUT),
        ((JobState.FAILED, JobState.TIMED_OUT), JobState.FAILED),
    ],
)
def test_an_array_ends_with_its_last_task_and_as_its_worst(endings: tuple[JobState, JobState], whole: JobState) -> None:
    tasks = Tasks(an_array(0, 1))
    tasks.move(0, endings[0])
    assert not tasks.tally.progress().state.is_final
    tasks.move(1, endings[1])
    assert (tasks.tally.progress().state, tasks.tally.progress().percent) == (whole, 100)


def test_only_the_failed_are_tried_again() -> None:
    spec = an_array(0, 1, 2, 3, concurrency=2)
    tasks = Tasks(spec)
    tasks.move(1, JobState.FAILED)
    tasks.move(2, JobState.SUCCEEDED)
    tasks.move(3, JobState.TIMED_OUT)
    again = failed_only(spec, tasks.jobs.values())
    assert again is not None
    assert again.array == ArraySpec(indices=(1, 3), concurrency=2)


def test_there_is_nothing_to_try_again_when_nothing_failed() -> None:
    assert failed_only(an_array(0, 1), Tasks(an_array(0, 1)).jobs.values()) is None
    assert failed_only(a_spec(), ()) is None
