"""From the start of a gang to the end of an attempt, with the exact instructions on the way."""

import pytest

from muster.core.lifecycle import due_ms, occupied, transition
from muster.core.lifecycle.save_interval import FIRST_SAVE_MS
from muster.model.instructions import AskCheckpoint, StartWorkers
from muster.model.job import Cause, JobState
from muster.model.limits import (
    CHECKPOINT_EVERY_MS,
    FAILED_GANG_GRACE_MS,
    FAULTS_IN_A_ROW,
    START_PAUSE_MAX_MS,
    START_PAUSE_MS,
    START_TIMEOUT_MS,
)
from muster.model.records import evolve
from muster.model.requests import JobHeld, JobReleased
from muster.model.spec import CheckpointSpec, RetryCause
from tests.unit.core.lifecycle.builders import (
    GRACE_MS,
    HOUR_MS,
    JOB,
    LIMIT_MS,
    MINUTE_MS,
    RUN,
    START_MS,
    Played,
    a_gang,
    a_spec,
    evict,
    exits,
    no_start,
    running,
    saved,
    start,
    starting,
    stop_of,
    submitted,
    that_saves,
    timer,
    up,
    wake,
)


def test_a_start_sends_the_whole_gang_and_sets_the_first_alarm() -> None:
    played = starting()
    gang = a_gang(2)
    assert played.instructions == [
        StartWorkers(
            job=JOB, attempt=1, generation=1, spec=a_spec(), workers=gang, gang=gang, max_duration_ms=LIMIT_MS, run=RUN
        ),
        wake(START_MS + START_TIMEOUT_MS),
    ]
    job = played.job
    assert (job.state, job.started_ms, job.first_started_ms) == (JobState.STARTING, START_MS, START_MS)
    assert job.ends_by_ms == START_MS + LIMIT_MS
    assert occupied(job) == gang


def test_a_gang_runs_when_its_last_worker_is_up() -> None:
    played = starting()
    assert played.then(up(played.job, 1)).state is JobState.STARTING
    assert played.instructions == []
    assert played.then(up(played.job, 0)).state is JobState.RUNNING
    assert played.instructions == [wake(START_MS + LIMIT_MS - GRACE_MS)]


def test_a_gang_that_never_completes_is_given_up_as_a_fault_of_the_infrastructure() -> None:
    played = starting().then(timer(START_MS + START_TIMEOUT_MS))
    assert played.instructions == [
        stop_of(played.job, 0, 1, grace_ms=FAILED_GANG_GRACE_MS, cause=Cause.START_FAILURE),
        wake(START_MS + START_TIMEOUT_MS + FAILED_GANG_GRACE_MS),
    ]
    assert played.then(exits(played.job, code=143, told=True)).state is JobState.QUEUED
    assert played.job.faults_in_a_row == 1


def test_a_gang_has_succeeded_when_all_workers_exited_well() -> None:
    played = running()
    assert played.then(exits(played.job, 0, at_ms=HOUR_MS)).state is JobState.RUNNING
    played.then(exits(played.job, 1, at_ms=HOUR_MS + START_MS))
    job = played.job
    assert (job.state, job.cause, job.ended_ms) == (JobState.SUCCEEDED, Cause.COMPLETED, HOUR_MS + START_MS)
    assert job.attained_gpu_ms == 2 * HOUR_MS
    assert occupied(job) == ()
    assert played.instructions == []


def test_a_worker_may_exit_before_it_was_reported_up() -> None:
    played = starting()
    assert played.then(exits(played.job, 0)).state is JobState.STARTING
    assert played.then(up(played.job, 1)).state is JobState.RUNNING
    assert starting().then(exits(played.job, 0, 1)).state is JobState.SUCCEEDED


def test_one_failure_tells_the_others_to_leave_and_then_ends_the_job() -> None:
    played = running()
    played.then(exits(played.job, 1, code=1, at_ms=HOUR_MS))
    assert played.state is JobState.STOPPING
    assert played.instructions == [
        stop_of(played.job, 0, grace_ms=FAILED_GANG_GRACE_MS, cause=Cause.ERROR),
        wake(HOUR_MS + FAILED_GANG_GRACE_MS),
    ]
    played.then(exits(played.job, 0, code=143, told=True))
    assert (played.state, played.job.cause) == (JobState.FAILED, Cause.ERROR)


def test_a_failure_of_the_last_worker_ends_the_job_at_once() -> None:
    played = running(a_spec(workers=1))
    played.then(exits(played.job, code=1, oom=True))
    assert (played.state, played.job.cause, played.instructions) == (JobState.FAILED, Cause.OOM, [])


@pytest.mark.parametrize("codes", [(3, 41), (41, 3)])
def test_the_highest_exit_code_of_those_that_failed_by_themselves_counts(codes: tuple[int, int]) -> None:
    played = running(a_spec(workers=3), size=3)
    played.then(exits(played.job, 0, code=codes[0]), exits(played.job, 1, code=codes[1]))
    played.then(exits(played.job, 2, code=143, told=True))
    assert (played.state, played.job.exit_code) == (JobState.FAILED, 41)


def test_a_program_that_could_not_be_started_leaves_a_reason_and_no_exit_code() -> None:
    played = running(a_spec(workers=1, retries=1))
    played.then(exits(played.job, code=126, problem="there is no secret KEY"))
    assert (played.state, played.job.problem, played.job.exit_code) == (JobState.QUEUED, "there is no secret KEY", None)
    assert played.then(start(played.job)).job.problem == ""


def test_failures_are_tried_again_as_often_as_asked() -> None:
    played = running(a_spec(workers=1, retries=1))
    played.then(exits(played.job, code=1))
    job = played.job
    assert (job.state, job.retries_used, job.cause, job.requeued) == (JobState.QUEUED, 1, Cause.ERROR, False)
    played.then(start(played.job, at_ms=3 * HOUR_MS))
    assert (played.job.attempt, played.job.cause) == (2, None)
    played.then(up(played.job), exits(played.job, code=1))
    assert played.state is JobState.FAILED


def test_only_the_causes_that_were_named_are_tried_again() -> None:
    spec = a_spec(workers=1, retries=3, retry_on=(RetryCause.OOM,))
    played = running(spec)
    assert played.then(exits(played.job, code=1)).state is JobState.FAILED
    again = running(spec)
    assert again.then(exits(again.job, code=1, oom=True)).state is JobState.QUEUED


def test_a_retried_job_that_is_held_waits_for_its_release() -> None:
    played = running(a_spec(workers=1, retries=1)).then(JobHeld(at_ms=9_000, job=JOB))
    assert played.then(exits(played.job, code=1)).state is JobState.HELD
    assert played.then(JobReleased(at_ms=9_000, job=JOB)).state is JobState.QUEUED


def test_a_start_that_failed_is_tried_again_and_not_counted() -> None:
    played = starting()
    played.then(no_start(played.job))
    job = played.job
    assert (job.state, job.retries_used, job.faults_in_a_row) == (JobState.QUEUED, 0, 1)


def test_a_start_that_failed_for_some_stops_the_others() -> None:
    played = starting()
    played.then(up(played.job, 0), no_start(played.job, 1))
    assert played.instructions == [
        stop_of(played.job, 0, grace_ms=FAILED_GANG_GRACE_MS, cause=Cause.START_FAILURE),
        wake(3_000 + FAILED_GANG_GRACE_MS),
    ]


def test_faults_without_end_give_the_job_up() -> None:
    played = Played(job=submitted())
    for _ in range(FAULTS_IN_A_ROW):
        played.then(timer(due_ms(played.job) or 0))
        played.then(start(played.job))
        played.then(no_start(played.job))
    assert (played.state, played.job.cause) == (JobState.FAILED, Cause.START_FAILURE)


def test_a_job_that_cannot_be_started_pauses_longer_and_longer() -> None:
    played, pauses_ms = Played(job=submitted()), []
    for _ in range(10):
        played.then(start(played.job))
        played.then(no_start(played.job, at_ms=0))
        if played.state is JobState.BLOCKED:
            assert played.instructions == [wake(played.job.not_before_ms or 0)]
            pauses_ms.append(played.job.not_before_ms)
            assert transition(played.job, start(played.job)) == (played.job, ())
            played.then(timer(pauses_ms[-1] or 0))
        assert played.state is JobState.QUEUED
    assert pauses_ms[:3] == [START_PAUSE_MS, 2 * START_PAUSE_MS, 4 * START_PAUSE_MS]
    assert pauses_ms[-1] == START_PAUSE_MAX_MS
    assert len(pauses_ms) == 9


def test_a_checkpoint_forgives_earlier_faults() -> None:
    played = starting(a_spec(checkpoint=that_saves()))
    played.then(no_start(played.job))
    played.then(start(played.job))
    played.then(up(played.job))
    assert played.job.faults_in_a_row == 1
    played.then(saved(played.job, at_ms=HOUR_MS))
    assert (played.job.faults_in_a_row, played.job.checkpointed_ms) == (0, HOUR_MS)


def test_reports_of_another_attempt_or_generation_are_ignored() -> None:
    job = running().job
    event = exits(job, code=1)
    for stale in (
        evolve(event, attempt=2),
        evolve(event, attempt=0),
        evolve(event, generation=0),
        evolve(event, generation=job.generation + 1),
        evolve(event, ranks=(7,)),
    ):
        assert transition(job, stale) == (job, ())


def test_the_same_report_twice_is_one_report() -> None:
    played = running()
    event = exits(played.job, 0)
    once = played.then(event).job
    assert played.then(event).job == once
    assert played.then(no_start(played.job, 0)).job == once
    assert played.then(up(once)).job.ready_ranks == (0, 1)


def test_a_job_that_saves_is_asked_to_regularly() -> None:
    spec = a_spec(checkpoint=that_saves(every_ms=10 * MINUTE_MS))
    played = running(spec)
    assert played.instructions == [wake(2_000 + 9 * MINUTE_MS)]  # the first save may take a minute
    played.then(timer(2_000 + 9 * MINUTE_MS))
    assert played.instructions == [
        AskCheckpoint(job=JOB, attempt=1, generation=2, every_ms=10 * MINUTE_MS),
        wake(2_000 + 19 * MINUTE_MS),
    ]
    played.then(saved(played.job, at_ms=2_000 + 11 * MINUTE_MS))
    assert played.instructions == [wake(2_000 + 21 * MINUTE_MS)]


def test_the_interval_is_tuned_once_the_cost_of_a_save_is_known() -> None:
    played = running(a_spec(checkpoint=that_saves()))
    assert played.job.ask_ms == 2_000 + CHECKPOINT_EVERY_MS - 2 * FIRST_SAVE_MS
    played.then(saved(played.job, at_ms=HOUR_MS, cost_ms=1_000))
    cheap = played.job.ask_ms
    played.then(saved(played.job, at_ms=HOUR_MS, cost_ms=2_000))
    assert cheap is not None
    assert played.job.ask_ms is not None
    assert HOUR_MS < cheap < played.job.ask_ms


def test_a_timer_that_comes_early_changes_nothing() -> None:
    for played in (starting(), running(), running(a_spec(checkpoint=that_saves())), running().then(evict())):
        due = due_ms(played.job)
        assert due is not None
        assert transition(played.job, timer(due - 1)) == (played.job, ())


@pytest.mark.parametrize(
    ("checkpoint", "limit_ms", "notice_ms"),
    [
        (None, HOUR_MS, START_MS + HOUR_MS - GRACE_MS),
        (CheckpointSpec(path="x", grace_ms=5 * MINUTE_MS), HOUR_MS, START_MS + HOUR_MS - 5 * MINUTE_MS),
        (CheckpointSpec(path="x", grace_ms=5 * MINUTE_MS), 4 * MINUTE_MS, START_MS + 2 * MINUTE_MS),
    ],
)
def test_notice_of_the_end_goes_out_a_grace_period_before_it(
    checkpoint: CheckpointSpec | None, limit_ms: int, notice_ms: int
) -> None:
    played = running(a_spec(workers=1, checkpoint=checkpoint), limit_ms=limit_ms)
    end_ms = START_MS + limit_ms
    while (due := due_ms(played.job)) is not None and due < notice_ms:
        played.then(timer(due))
    played.then(timer(notice_ms))
    assert played.state is JobState.STOPPING
    assert played.instructions == [
        stop_of(played.job, 0, grace_ms=end_ms - notice_ms, cause=Cause.TIMEOUT),
        wake(end_ms),
    ]
    assert played.then(exits(played.job, code=143, told=True)).state is JobState.TIMED_OUT


def test_a_timeout_is_tried_again_when_the_job_asks_for_it() -> None:
    played = running(a_spec(workers=1, retries=1, retry_on=(RetryCause.TIMEOUT,)), limit_ms=HOUR_MS)
    played.then(timer(HOUR_MS))
    assert played.then(exits(played.job, code=143, told=True)).state is JobState.QUEUED


@pytest.mark.parametrize("code", [0, 143, 137], ids=["saved itself", "died of the signal", "was killed"])
def test_a_gang_that_its_node_ended_for_its_maximum_duration_has_timed_out(code: int) -> None:
    played = running(a_spec(retries=3), limit_ms=HOUR_MS)
    played.then(exits(played.job, 0, code=code, told=True, timed_out=True))
    assert (played.state, played.job.cause) == (JobState.STOPPING, Cause.TIMEOUT)
    played.then(exits(played.job, 1, code=code, told=True, timed_out=True))
    assert (played.state, played.job.cause) == (JobState.TIMED_OUT, Cause.TIMEOUT)
    assert (played.job.retries_used, played.job.exit_code) == (0, None)


def test_a_job_that_asks_for_it_is_tried_again_after_its_node_ended_it() -> None:
    played = running(a_spec(workers=1, retries=1, retry_on=(RetryCause.TIMEOUT,)), limit_ms=HOUR_MS)
    assert played.then(exits(played.job, code=0, told=True, timed_out=True)).state is JobState.QUEUED


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the crash is heard of last", "the crash is heard of first"])
def test_a_crash_on_the_broken_connection_is_no_reason_of_its_own(order: tuple[int, int]) -> None:
    played = running(a_spec(retries=3), limit_ms=HOUR_MS)
    ends = (exits(played.job, 0, code=143, told=True, timed_out=True), exits(played.job, 1, code=1))
    played.then(*(ends[place] for place in order))
    assert (played.state, played.job.cause, played.job.exit_code) == (JobState.TIMED_OUT, Cause.TIMEOUT, None)


def test_a_worker_that_left_for_another_reason_before_its_limit_is_not_out_of_time() -> None:
    played = running(limit_ms=HOUR_MS).then(evict(at_ms=START_MS + 1_000))
    assert played.then(exits(played.job, code=143, told=True)).state is JobState.QUEUED


def test_a_job_that_finishes_by_itself_in_its_last_moments_has_succeeded() -> None:
    played = running(limit_ms=HOUR_MS).then(timer(HOUR_MS))
    assert played.then(exits(played.job, code=0, told=False)).state is JobState.SUCCEEDED


def test_a_resumed_job_keeps_its_place_and_what_it_has_attained() -> None:
    played = running(a_spec(workers=1, retries=1))
    played.then(exits(played.job, code=1, at_ms=START_MS + HOUR_MS))
    played.then(start(played.job, at_ms=2 * HOUR_MS))
    played.then(up(played.job), exits(played.job, at_ms=3 * HOUR_MS))
    job = played.job
    assert (job.submitted_ms, job.first_started_ms, job.attained_gpu_ms) == (0, START_MS, 2 * HOUR_MS)


def test_the_last_step_is_that_of_the_attempt_that_ended_last() -> None:
    played = running(a_spec(retries=1))
    played.then(evolve(exits(played.job, 0), step=70, step_ms=100), evolve(exits(played.job, 1, code=1), step=69))
    assert (played.job.last_step, played.job.last_step_ms) == (70, 100)
    played.then(start(played.job), up(played.job))
    assert played.job.last_step == 70
    again = played.then(evolve(exits(played.job, 1), step=40, step_ms=900), exits(played.job, 0)).job
    assert (again.state, again.last_step, again.last_step_ms) == (JobState.SUCCEEDED, 40, 900)
