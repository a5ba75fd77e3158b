"""Evicted, cancelled, killed: how a job leaves its GPUs when it is told to."""

import pytest

from muster.core.lifecycle import desired_commands, due_ms, transition
from muster.model.events import Event
from muster.model.instructions import SignalStop, StartWorkers
from muster.model.job import Cause, JobState
from muster.model.limits import FAILED_GANG_GRACE_MS, KILL_REPEAT_MS
from muster.model.requests import JobHeld, JobRequeueRequested
from tests.unit.core.lifecycle.builders import (
    GRACE_MS,
    HOUR_MS,
    JOB,
    LIMIT_MS,
    RUN,
    START_MS,
    Played,
    a_gang,
    a_spec,
    cancel,
    evict,
    exits,
    kill_of,
    leaving,
    lost,
    no_start,
    resize,
    running,
    saved,
    start,
    starting,
    stop_of,
    stopping,
    submitted,
    that_saves,
    timer,
    up,
    wake,
)


@pytest.mark.parametrize("played", [starting(), running()])
def test_an_eviction_tells_every_worker_to_save_and_leave(played: Played) -> None:
    played.then(evict(at_ms=HOUR_MS, by_ms=HOUR_MS + 5_000))
    assert played.state is JobState.CHECKPOINTING
    assert played.instructions == [
        stop_of(played.job, 0, 1, grace_ms=5_000, cause=Cause.PREEMPTED),
        wake(HOUR_MS + 5_000),
    ]


def test_an_evicted_job_is_requeued_whatever_its_exit_code_and_marked_until_it_runs() -> None:
    for code in (0, 1, 137):
        played = leaving()
        played.then(exits(played.job, code=code, told=True))
        job = played.job
        assert (job.state, job.requeued, job.preemptions, job.cause) == (JobState.QUEUED, True, 1, Cause.PREEMPTED)
        assert (job.submitted_ms, job.retries_used) == (0, 0)
        played.then(start(job))
        assert played.job.requeued
        assert not played.then(up(played.job)).job.requeued


def test_an_eviction_that_meets_a_finished_job_does_not_undo_it() -> None:
    played = leaving()
    played.then(exits(played.job, 0), exits(played.job, 1))
    assert (played.state, played.job.cause) == (JobState.SUCCEEDED, Cause.COMPLETED)


def test_a_gang_of_which_only_some_had_finished_is_preempted() -> None:
    played = leaving()
    played.then(exits(played.job, 0), exits(played.job, 1, told=True))
    assert (played.state, played.job.cause) == (JobState.QUEUED, Cause.PREEMPTED)


def test_a_checkpoint_on_the_way_out_counts() -> None:
    played = leaving(a_spec(checkpoint=that_saves()))
    played.then(saved(played.job, at_ms=HOUR_MS + 1))
    assert (played.state, played.job.checkpointed_ms, played.instructions) == (
        JobState.CHECKPOINTING,
        HOUR_MS + 1,
        [],
    )


def test_a_worker_that_does_not_leave_in_time_is_killed_and_killed_again() -> None:
    deadline_ms = HOUR_MS + GRACE_MS
    for played in (leaving(), stopping()):
        state = played.state
        played.then(exits(played.job, 0, code=1, told=True, at_ms=HOUR_MS + 1), timer(deadline_ms))
        assert played.instructions == [kill_of(played.job, 1), wake(deadline_ms + KILL_REPEAT_MS)]
        assert played.state is state
        played.then(timer(deadline_ms + KILL_REPEAT_MS))
        assert played.instructions == [kill_of(played.job, 1), wake(deadline_ms + 2 * KILL_REPEAT_MS)]


def test_a_grace_period_never_outlasts_the_maximum_duration() -> None:
    played = running().then(evict(at_ms=START_MS + LIMIT_MS - GRACE_MS - 1, by_ms=START_MS + 2 * LIMIT_MS))
    assert played.job.deadline_ms == START_MS + LIMIT_MS


def test_a_notice_that_comes_too_late_leaves_no_grace() -> None:
    played = running().then(timer(START_MS + LIMIT_MS + 7))
    told, _ = played.instructions
    assert told == stop_of(played.job, 0, 1, grace_ms=0, cause=Cause.TIMEOUT)
    killed, _ = played.then(timer(START_MS + LIMIT_MS + 7)).instructions
    assert killed == kill_of(played.job, 0, 1)


@pytest.mark.parametrize("played", [leaving(), stopping()])
def test_a_job_that_is_leaving_is_not_evicted_again(played: Played) -> None:
    assert transition(played.job, evict(at_ms=2 * HOUR_MS)) == (played.job, ())


@pytest.mark.parametrize("played", [starting(), running()])
def test_a_cancelled_job_gets_its_grace_and_is_not_tried_again(played: Played) -> None:
    played.then(cancel(HOUR_MS))
    assert played.state is JobState.STOPPING
    assert played.instructions == [
        stop_of(played.job, 0, 1, grace_ms=GRACE_MS, cause=Cause.CANCELLED),
        wake(HOUR_MS + GRACE_MS),
    ]
    played.then(exits(played.job, code=0, told=True))
    assert (played.state, played.job.cause) == (JobState.CANCELLED, Cause.CANCELLED)


@pytest.mark.parametrize("played", [starting(), running()])
@pytest.mark.parametrize(("code", "told"), [(0, False), (0, True), (255, False), (255, True)])
def test_a_requeued_job_saves_itself_and_waits_again_whatever_its_code(played: Played, code: int, told: bool) -> None:
    played = Played(job=played.job).then(JobRequeueRequested(at_ms=HOUR_MS, job=JOB))
    assert played.state is JobState.CHECKPOINTING
    assert played.instructions == [
        stop_of(played.job, 0, 1, grace_ms=GRACE_MS, cause=Cause.REQUEUED),
        wake(HOUR_MS + GRACE_MS),
    ]
    played.then(exits(played.job, code=code, told=told))
    assert (played.state, played.job.cause) == (JobState.QUEUED, Cause.REQUEUED)
    assert (played.job.retries_used, played.job.preemptions, played.job.requeued) == (0, 0, False)


@pytest.mark.parametrize("played", [leaving(), stopping(), Played(job=submitted())])
def test_a_job_that_waits_or_leaves_is_not_requeued(played: Played) -> None:
    assert transition(played.job, JobRequeueRequested(at_ms=2 * HOUR_MS, job=JOB))[0] == played.job


@pytest.mark.parametrize("code", [0, 1])
def test_a_job_whose_time_is_over_may_ask_to_be_started_again(code: int) -> None:
    played = running()
    assert played.job.ends_by_ms is not None
    played.then(timer(played.job.ends_by_ms - GRACE_MS))
    assert (played.state, played.job.cause) == (JobState.STOPPING, Cause.TIMEOUT)
    deadline_ms = played.job.deadline_ms
    played.then(JobRequeueRequested(at_ms=played.job.ends_by_ms - 1, job=JOB))
    assert (played.state, played.job.deadline_ms) == (JobState.CHECKPOINTING, deadline_ms)
    played.then(exits(played.job, code=code))
    assert (played.state, played.job.cause) == (JobState.QUEUED, Cause.REQUEUED)


def test_cancelling_twice_is_cancelling_once() -> None:
    job = stopping().job
    assert transition(job, cancel(2 * HOUR_MS)) == (job, ())


def test_cancelling_a_job_that_is_leaving_only_changes_what_becomes_of_it() -> None:
    played = leaving().then(cancel())
    assert (played.state, played.instructions) == (JobState.STOPPING, [])
    assert played.then(exits(played.job, code=1, told=True)).state is JobState.CANCELLED


def test_cancelling_a_job_that_just_failed_prevents_the_retry() -> None:
    played = running(a_spec(retries=5))
    played.then(exits(played.job, 0, code=1), cancel(3 * HOUR_MS), exits(played.job, 1, code=1, told=True))
    assert (played.state, played.job.cause) == (JobState.CANCELLED, Cause.CANCELLED)


FINISHED = running(a_spec(workers=1))
FINISHED.then(exits(FINISHED.job))


@pytest.mark.parametrize(
    "event",
    [
        cancel(),
        evict(),
        timer(10 * LIMIT_MS),
        lost("n0"),
        JobHeld(at_ms=1, job=JOB),
        resize(a_gang(2)),
        start(FINISHED.job),
        up(FINISHED.job, 0),
        exits(FINISHED.job, 0, code=1),
        no_start(FINISHED.job, 0),
        saved(FINISHED.job, at_ms=1),
    ],
)
def test_a_final_state_never_changes(event: Event) -> None:
    assert transition(FINISHED.job, event) == (FINISHED.job, ())


def test_a_lost_node_takes_the_gang_with_it_and_is_not_the_users_fault() -> None:
    played = running(a_spec(workers=3)).then(lost("n1"))
    job = played.job
    assert job.state is JobState.STOPPING
    assert played.instructions == [
        kill_of(job, 1),
        stop_of(job, 0, 2, grace_ms=FAILED_GANG_GRACE_MS, cause=Cause.NODE_FAILURE),
        wake(HOUR_MS + FAILED_GANG_GRACE_MS),
    ]
    played.then(exits(job, 0, 2, code=143, told=True))
    job = played.job
    assert (job.state, job.node_failures, job.faults_in_a_row, job.retries_used) == (JobState.QUEUED, 1, 1, 0)
    assert job.preferred_nodes == ("n0", "n2")
    assert not job.requeued
    assert played.then(start(job)).job.preferred_nodes == ()


def test_a_second_lost_node_is_not_preferred_either() -> None:
    played = running(a_spec(workers=3)).then(lost("n1"), lost("n0", at_ms=HOUR_MS + 1))
    assert played.instructions == [kill_of(played.job, 0)]
    played.then(exits(played.job, 2, code=143, told=True))
    assert played.job.preferred_nodes == ("n2",)


def test_losing_the_only_node_requeues_at_once_and_still_kills_what_may_have_survived_there() -> None:
    played = running(a_spec(workers=1)).then(lost("n0"))
    assert played.state is JobState.QUEUED
    assert played.instructions == [kill_of(played.job, 0)]


def test_a_lost_node_explains_a_crash_that_was_noticed_first() -> None:
    played = running()
    played.then(exits(played.job, 0, code=1), lost("n1", at_ms=3 * HOUR_MS))
    assert (played.state, played.job.cause) == (JobState.QUEUED, Cause.NODE_FAILURE)


def test_a_lost_node_does_not_change_why_a_job_was_stopped() -> None:
    for played, cause, state in (
        (leaving(), Cause.PREEMPTED, JobState.QUEUED),
        (stopping(), Cause.CANCELLED, JobState.CANCELLED),
    ):
        played.then(exits(played.job, 0, code=1, told=True), lost("n1"))
        assert (played.state, played.job.cause) == (state, cause)


def test_a_lost_node_means_nothing_to_jobs_elsewhere_or_workers_that_had_finished() -> None:
    played = running()
    assert transition(played.job, lost("n7")) == (played.job, ())
    played.then(exits(played.job, 0))
    assert transition(played.job, lost("n0")) == (played.job, ())


def test_a_worker_that_never_existed_counts_as_gone_when_the_job_stops() -> None:
    played = stopping()
    assert played.then(no_start(played.job, 0, 1)).state is JobState.CANCELLED


def test_what_a_backend_should_be_doing_can_be_sent_again() -> None:
    played = running()
    job = played.then(exits(played.job, 0)).job
    gang = a_gang(2)
    assert desired_commands(job, HOUR_MS) == (
        StartWorkers(
            job=JOB,
            attempt=1,
            generation=job.generation,
            spec=job.spec,
            workers=gang[1:],
            gang=gang,
            max_duration_ms=START_MS + LIMIT_MS - HOUR_MS,
            run=RUN,
        ),
    )
    for stopped in (leaving().job, stopping().job):
        assert desired_commands(stopped, HOUR_MS + 1_000) == (
            stop_of(stopped, 0, 1, grace_ms=GRACE_MS - 1_000, cause=stopped.cause or Cause.ERROR),
        )
        late = desired_commands(stopped, 9 * HOUR_MS)[0]
        assert isinstance(late, SignalStop)
        assert late.grace_ms == 0


def test_only_jobs_with_gpus_have_alarms() -> None:
    assert due_ms(submitted()) is None
    assert due_ms(FINISHED.job) is None
    assert due_ms(leaving().job) == HOUR_MS + GRACE_MS


def test_a_job_that_is_to_be_killed_gets_no_new_grace_from_a_control_plane_that_starts_again() -> None:
    played = stopping()
    assert played.job.deadline_ms is not None
    played.then(timer(played.job.deadline_ms))
    killed = played.job
    assert killed.killed
    assert desired_commands(killed, killed.deadline_ms or 0) == (kill_of(killed, 0, 1),)
    assert not played.then(exits(killed, told=True)).job.state.holds_resources


@pytest.mark.parametrize("code", [0, 1, 137, 143])
def test_a_gang_that_was_told_to_leave_by_a_log_that_is_gone_has_neither_finished_nor_failed(code: int) -> None:
    played = running()
    played.then(exits(played.job, 0, code=code, told=True))
    played.then(exits(played.job, 1, code=code, told=True))
    job = played.job
    assert (job.state, job.cause, job.retries_used) == (JobState.QUEUED, Cause.NODE_FAILURE, 0)
