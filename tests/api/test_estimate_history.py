"""What a server learns from the start estimates it gave."""

from muster.api.lookups.estimate_history import EstimateHistory
from muster.estimates.calibration import APART_MS, ENOUGH
from muster.estimates.starts import StartEstimate
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.limits import ESTIMATES_OPEN
from muster.model.policy import MINUTE_MS
from tests.builders import a_job

WAITING = 50


def a_record(job: str, *, started_ms: int | None = None, state: JobState = JobState.QUEUED) -> Job:
    return Job(id=JobId(job), spec=a_job(), submitted_ms=0, state=state, first_started_ms=started_ms)


def in_minutes(made_ms: int, minutes: int) -> StartEstimate:
    at_ms = made_ms + minutes * MINUTE_MS
    return StartEstimate(p50_ms=at_ms, p90_ms=at_ms)


def with_history(*, said: int, took: int | None, state: JobState = JobState.RUNNING) -> EstimateHistory:
    """Jobs were said to wait so many minutes, and so many passed."""
    record = EstimateHistory()
    for number in range(ENOUGH):
        made_ms = number * APART_MS
        record.remember(JobId(str(number)), in_minutes(made_ms, said), waiting=WAITING, now_ms=made_ms)
        started_ms = None if took is None else made_ms + took * MINUTE_MS
        record.learn({JobId(str(number)): a_record(str(number), started_ms=started_ms, state=state)})
    return record


def told(record: EstimateHistory) -> StartEstimate:
    return record.corrected(in_minutes(0, 10), waiting=WAITING, now_ms=0)


def test_estimates_that_were_too_early_make_the_next_later() -> None:
    assert told(with_history(said=10, took=20)) == in_minutes(0, 20)


def test_jobs_that_ended_without_a_start_teach_nothing() -> None:
    assert told(with_history(said=10, took=None, state=JobState.CANCELLED)) == in_minutes(0, 10)


def test_an_estimate_is_learnt_from_once() -> None:
    record = EstimateHistory()
    record.remember(JobId("a"), in_minutes(0, 10), waiting=WAITING, now_ms=0)
    for place in range(2 * ENOUGH):
        record.learn({JobId("a"): a_record("a", started_ms=place * APART_MS)})
    assert told(record) == in_minutes(0, 10)


def test_of_several_estimates_for_a_job_the_first_counts() -> None:
    record = EstimateHistory()
    for number in range(ENOUGH):
        job, made_ms = JobId(str(number)), number * APART_MS
        record.remember(job, in_minutes(made_ms, 10), waiting=WAITING, now_ms=made_ms)
        record.remember(job, in_minutes(made_ms, 40), waiting=WAITING, now_ms=made_ms)
        record.learn({job: a_record(str(number), started_ms=made_ms + 20 * MINUTE_MS)})
    assert told(record) == in_minutes(0, 20)


def test_the_oldest_estimates_go_when_there_are_too_many() -> None:
    record = EstimateHistory()
    for number in range(ENOUGH + ESTIMATES_OPEN):
        made_ms = number * APART_MS
        record.remember(JobId(str(number)), in_minutes(made_ms, 10), waiting=WAITING, now_ms=made_ms)
    record.learn({JobId(str(number)): a_record(str(number), started_ms=10**12) for number in range(ENOUGH)})
    assert told(record) == in_minutes(0, 10)
