"""Before a job has GPUs: dependencies, turns, its user's hold, and being cancelled there."""

import pytest

from muster.core.lifecycle import created, desired_commands, due_ms, transition
from muster.model.events import DependencyFailed, DependencyMet, Event, HoldsSet, JobSubmitted, NodeChanged, TurnCame
from muster.model.ids import JobId, NodeName
from muster.model.job import Cause, JobState
from muster.model.node import Node
from muster.model.records import evolve
from muster.model.requests import JobHeld, JobReleased
from muster.model.spec import ArraySpec
from tests.unit.core.lifecycle.builders import (
    JOB,
    Played,
    a_spec,
    cancel,
    evict,
    leaving,
    resize,
    running,
    start,
    starting,
    stopping,
    submitted,
    timer,
)

PREP, OTHER = JobId("prep"), JobId("other")


def test_a_new_job_without_conditions_is_queued() -> None:
    job = submitted()
    assert job.state is JobState.QUEUED
    assert due_ms(job) is None
    assert desired_commands(job, 0) == ()


def test_a_job_that_was_submitted_held_waits_for_its_release() -> None:
    played = Played(job=submitted(held=True))
    assert played.state is JobState.HELD
    assert played.then(JobReleased(at_ms=5, job=JOB)).state is JobState.QUEUED


def test_a_queued_job_can_be_held() -> None:
    played = Played(job=submitted()).then(JobHeld(at_ms=5, job=JOB))
    assert played.state is JobState.HELD
    assert played.instructions == []


def test_a_dependency_blocks_until_the_last_one_is_met() -> None:
    played = Played(job=submitted(unmet=("prep", "other")))
    assert played.state is JobState.BLOCKED
    assert played.then(DependencyMet(at_ms=1, job=JOB, dependency=PREP)).state is JobState.BLOCKED
    assert played.job.unmet == (OTHER,)
    assert played.then(DependencyMet(at_ms=2, job=JOB, dependency=OTHER)).state is JobState.QUEUED


def test_a_hold_is_kept_while_the_job_is_blocked() -> None:
    played = Played(job=submitted(unmet=("prep",))).then(JobHeld(at_ms=1, job=JOB))
    assert played.state is JobState.BLOCKED
    assert played.then(DependencyMet(at_ms=2, job=JOB, dependency=PREP)).state is JobState.HELD


def test_a_failed_dependency_cancels_and_says_why() -> None:
    played = Played(job=submitted(unmet=("prep",))).then(DependencyFailed(at_ms=7, job=JOB, dependency=PREP))
    assert (played.state, played.job.cause, played.job.ended_ms) == (JobState.CANCELLED, Cause.DEPENDENCY, 7)


def test_a_dependency_that_is_not_waited_for_cannot_doom() -> None:
    job = submitted(unmet=("prep",))
    assert transition(job, DependencyFailed(at_ms=7, job=JOB, dependency=OTHER)) == (job, ())


@pytest.mark.parametrize("job", [submitted(), submitted(held=True), submitted(unmet=("prep",))])
def test_a_waiting_job_is_cancelled_at_once(job: object) -> None:
    played = Played(job=job).then(cancel(at_ms=9))  # type: ignore[arg-type]
    assert (played.state, played.job.cause, played.job.ended_ms) == (JobState.CANCELLED, Cause.CANCELLED, 9)
    assert played.instructions == []


@pytest.mark.parametrize("event", [evict(attempt=0), resize((), attempt=0), timer(5)])
def test_orders_for_a_running_job_mean_nothing_to_a_waiting_one(event: Event) -> None:
    job = submitted()
    assert transition(job, event) == (job, ())


@pytest.mark.parametrize("played", [starting(), running(), leaving(), stopping()])
def test_a_job_with_gpus_only_remembers_that_it_should_be_held(played: Played) -> None:
    state = played.state
    assert played.then(JobHeld(at_ms=9, job=JOB)).state is state
    assert played.job.held
    assert not played.then(JobReleased(at_ms=9, job=JOB)).job.held


def test_events_for_others_and_about_the_cluster_change_nothing() -> None:
    job = submitted()
    others: tuple[Event, ...] = (
        JobHeld(at_ms=1, job=OTHER),
        HoldsSet(at_ms=1, holds=()),
        NodeChanged(at_ms=1, node=Node(name=NodeName("n0"))),
        JobSubmitted(at_ms=1, job=JOB, spec=a_spec()),
    )
    for event in others:
        assert transition(job, event) == (job, ())


def test_a_start_that_is_not_the_next_one_is_ignored() -> None:
    job = submitted()
    good = start(job)
    for event in (
        evolve(good, attempt=2),
        evolve(good, generation=5),
        evolve(good, workers=()),
    ):
        assert transition(job, event) == (job, ())
    held = submitted(held=True)
    assert transition(held, good) == (held, ())


def test_an_array_becomes_its_tasks_and_those_beyond_the_cap_wait_for_their_turn() -> None:
    spec = evolve(a_spec(), array=ArraySpec(indices=(3, 4, 9), concurrency=2))
    tasks = created(JobSubmitted(at_ms=5, job=JOB, spec=spec))
    assert [(task.id, task.array_index, task.state) for task in tasks] == [
        ("job-1.3", 3, JobState.QUEUED),
        ("job-1.4", 4, JobState.QUEUED),
        ("job-1.9", 9, JobState.BLOCKED),
    ]
    assert all(task.array_parent == JOB and task.spec.array is None for task in tasks)
    assert transition(tasks[2], TurnCame(at_ms=6, job=tasks[2].id))[0].state is JobState.QUEUED


def test_an_event_for_the_array_reaches_its_tasks() -> None:
    spec = evolve(a_spec(), array=ArraySpec(indices=(0, 1)))
    task = created(JobSubmitted(at_ms=5, job=JOB, spec=spec))[1]
    assert transition(task, cancel())[0].state is JobState.CANCELLED
