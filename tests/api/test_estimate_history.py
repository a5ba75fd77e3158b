"""What a server learns from the start estimates it gave."""

from pathlib import Path

import pytest

from muster.api.lookups.estimate_file import EstimateFile
from muster.api.lookups.estimate_history import ESTIMATES_KEPT, EstimateHistory
from muster.api.lookups.estimating import EstimatedStart, EstimateRecord, Grounds
from muster.estimates.calibration import MILLI_MAX
from muster.estimates.starts import StartEstimate
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.limits import ESTIMATES_OPEN, ESTIMATES_RECALLED
from muster.model.plan import EstimateBasis
from muster.model.policy import MINUTE_MS
from tests.builders import a_job

ENOUGH = 20
SAID = 9
"""Minutes. One is added to every estimate, so what took twenty took twice as long."""
APART_MS = 30 * MINUTE_MS
"""Each estimate is made after the one before it came true."""


def a_record(job: str, *, started_ms: int | None = None, state: JobState = JobState.QUEUED) -> Job:
    return Job(id=JobId(job), spec=a_job(), submitted_ms=0, state=state, first_started_ms=started_ms)


def in_minutes(made_ms: int, minutes: int) -> StartEstimate:
    at_ms = made_ms + minutes * MINUTE_MS
    return StartEstimate(p50_ms=at_ms, p90_ms=at_ms)


def remember(
    record: EstimateHistory,
    job: str,
    raw: StartEstimate,
    made_ms: int,
    basis: EstimateBasis = EstimateBasis.HISTORY,
) -> None:
    """Note an estimate that was told as it was found."""
    told = EstimatedStart(start=raw, grounds=Grounds(basis=basis))
    record.remember(JobId(job), raw, told, now_ms=made_ms)


def with_history(*, said: int, took: int | None, state: JobState = JobState.RUNNING) -> EstimateHistory:
    """Jobs were said to wait so many minutes, and so many passed."""
    record = EstimateHistory()
    for number in range(ENOUGH):
        made_ms = number * APART_MS
        remember(record, str(number), in_minutes(made_ms, said), made_ms)
        started_ms = None if took is None else made_ms + took * MINUTE_MS
        record.learn({JobId(str(number)): a_record(str(number), started_ms=started_ms, state=state)})
    return record


def told(record: EstimateHistory) -> StartEstimate:
    return record.corrected(in_minutes(0, SAID), now_ms=0)


def test_estimates_that_were_too_early_make_the_next_later() -> None:
    assert told(with_history(said=SAID, took=20)) == in_minutes(0, 20)


def test_jobs_that_ended_without_a_start_teach_nothing() -> None:
    assert told(with_history(said=SAID, took=None, state=JobState.CANCELLED)) == told(EstimateHistory())


def test_an_estimate_is_learnt_from_once() -> None:
    record = EstimateHistory()
    remember(record, "a", in_minutes(0, SAID), 0)
    for _ in range(2 * ENOUGH):
        record.learn({JobId("a"): a_record("a", started_ms=10**9)})
    p90_ms = told(record).p90_ms
    assert p90_ms is not None
    assert p90_ms < (SAID + 1) * MINUTE_MS * MILLI_MAX // 1000


def test_what_is_learnt_does_not_depend_on_when_a_user_asks() -> None:
    """Jobs that started in another order than their estimates were given teach the same at once and one by one."""
    started = {str(number): (60 - 5 * number) * MINUTE_MS for number in range(10)}
    histories = EstimateHistory(), EstimateHistory()
    for record in histories:
        for number, job in enumerate(started):
            remember(record, job, in_minutes(number * MINUTE_MS, 10 * number + 1), number * MINUTE_MS)
    at_once, one_by_one = histories
    jobs = {JobId(job): a_record(job, started_ms=at_ms) for job, at_ms in started.items()}
    at_once.learn(jobs)
    for job in reversed(jobs):
        one_by_one.learn({each: jobs[job] if each == job else a_record(each) for each in one_by_one.open})
    assert at_once.given == one_by_one.given
    assert told(at_once) == told(one_by_one)


def test_of_several_estimates_for_a_job_the_first_counts() -> None:
    record = EstimateHistory()
    for number in range(ENOUGH):
        job, made_ms = JobId(str(number)), number * APART_MS
        remember(record, job, in_minutes(made_ms, SAID), made_ms)
        remember(record, job, in_minutes(made_ms, 40), made_ms)
        record.learn({job: a_record(str(number), started_ms=made_ms + 20 * MINUTE_MS)})
    assert told(record) == in_minutes(0, 20)


def test_the_oldest_estimates_go_when_there_are_too_many() -> None:
    record = EstimateHistory()
    for number in range(ENOUGH + ESTIMATES_OPEN):
        made_ms = number * APART_MS
        remember(record, str(number), in_minutes(made_ms, SAID), made_ms)
    record.learn({JobId(str(number)): a_record(str(number), started_ms=10**12) for number in range(ENOUGH)})
    assert told(record) == told(EstimateHistory())


def test_a_user_is_told_how_many_of_the_latest_estimates_held_of_jobs_that_waited() -> None:
    record = EstimateHistory()
    took = {"a": 5, "b": 15, "c": 9, "at-once": 0}
    for job, minutes in took.items():
        remember(record, job, in_minutes(0, SAID), 0)
        record.learn({JobId(job): a_record(job, started_ms=minutes * MINUTE_MS)})
    assert record.record(EstimateBasis.HISTORY) == EstimateRecord(given=3, kept=2)
    assert record.record(EstimateBasis.GUESS) == EstimateRecord()


def test_estimates_of_long_ago_are_not_counted() -> None:
    record = EstimateHistory()
    for number in range(2 * ESTIMATES_RECALLED):
        remember(record, str(number), in_minutes(0, SAID), 0)
        minutes = 20 if number < ESTIMATES_RECALLED else 5
        record.learn({JobId(str(number)): a_record(str(number), started_ms=minutes * MINUTE_MS)})
    assert record.record(EstimateBasis.HISTORY) == EstimateRecord(given=ESTIMATES_RECALLED, kept=ESTIMATES_RECALLED)


def restarted(record: EstimateHistory, path: Path) -> EstimateHistory:
    EstimateFile(path).write(record.given)
    return EstimateHistory(EstimateFile(path).read())


def test_after_a_restart_the_server_knows_how_good_its_estimates_were_and_corrects_as_before(tmp_path: Path) -> None:
    record = with_history(said=SAID, took=20)
    after = restarted(record, tmp_path / "estimates.json")
    assert told(after) == told(record) != told(EstimateHistory())
    assert after.record(EstimateBasis.HISTORY) == record.record(EstimateBasis.HISTORY)
    assert record.record(EstimateBasis.HISTORY).given == ENOUGH


def test_an_estimate_that_was_open_at_a_restart_is_learnt_from_later(tmp_path: Path) -> None:
    record = EstimateHistory()
    remember(record, "a", in_minutes(0, SAID), 0)
    after = restarted(record, tmp_path / "estimates.json")
    assert after.open == ("a",)
    assert after.learn({JobId("a"): a_record("a", started_ms=20 * MINUTE_MS)})
    assert not after.learn({})
    assert after.record(EstimateBasis.HISTORY) == EstimateRecord(given=1, kept=0)


def test_only_the_latest_outcomes_are_kept(tmp_path: Path) -> None:
    record = EstimateHistory()
    for number in range(ESTIMATES_KEPT + 5):
        remember(record, str(number), in_minutes(0, SAID), 0)
        record.learn({JobId(str(number)): a_record(str(number), started_ms=MINUTE_MS)})
    assert next(each.job for each in restarted(record, tmp_path / "kept").given) == "5"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"layout": 0, "estimates": []}',
        '{"layout": 1, "estimates": [["a", "history", "x", 1, 1, 1, 1]]}',
    ],
)
def test_a_file_that_cannot_be_read_costs_the_history_and_nothing_else(tmp_path: Path, text: str) -> None:
    path = tmp_path / "estimates.json"
    path.write_text(text)
    assert EstimateFile(path).read() == []
    assert EstimateFile(tmp_path / "none").read() == EstimateFile(None).read() == []
    EstimateFile(None).write([])
    EstimateFile(tmp_path / "no" / "folder").write([])
