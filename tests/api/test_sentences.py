"""Why and when in plain sentences."""

import pytest

from muster.api.lookups.estimating import EstimatedStart, EstimateRecord, Grounds
from muster.api.rendering.sentences import rough_start, state_headline, track_record, waits_because, when_it_starts
from muster.core.explaining.not_considered import NOT_STARTED
from muster.estimates.starts import StartEstimate
from muster.model.ids import JobId
from muster.model.job import JobState
from muster.model.plan import EstimateBasis, Promise, Reason, ReasonCode
from muster.model.policy import HOUR_MS, MINUTE_MS

NOW_MS = 1_000 * HOUR_MS


def told(p50_ms: int | None, p90_ms: int | None, given: int = 40, kept: int = 36) -> EstimatedStart:
    return EstimatedStart(
        start=StartEstimate(p50_ms=p50_ms, p90_ms=p90_ms),
        grounds=Grounds(basis=EstimateBasis.HISTORY, runs=5),
        record=EstimateRecord(given=given, kept=kept),
    )


def said(
    estimate: EstimatedStart | None = None, position: int | None = None, promise: Promise | None = None
) -> list[str]:
    return [each.text for each in when_it_starts(NOW_MS, position=position, promise=promise, told=estimate)]


@pytest.mark.parametrize("code", list(ReasonCode))
def test_every_reason_has_a_headline(code: ReasonCode) -> None:
    assert waits_because([Reason(code=code, message="", would_help="")]).startswith("It waits because ")


def test_a_job_that_could_not_be_started_is_not_told_that_nodes_are_out_of_order() -> None:
    pauses = Reason(code=ReasonCode.NODE_HEALTH, message="", would_help="", rule=NOT_STARTED)
    assert waits_because([pauses]) == "It waits because it could not be started."


def test_a_headline_names_two_causes_and_none_of_them_twice() -> None:
    codes = (ReasonCode.CAPACITY, ReasonCode.CAPACITY, ReasonCode.PROTECTED, ReasonCode.SPOT)
    reasons = [Reason(code=code, message="", would_help="") for code in codes]
    assert waits_because(reasons, would=True) == (
        "It would wait because too few GPUs are free, and because the jobs whose place it could take may not be "
        "stopped yet."
    )
    assert waits_because([]) == "It waits."
    assert state_headline(JobState.RUNNING) == "It runs."


def test_an_estimate_has_a_range_its_grounds_and_its_record() -> None:
    estimate = told(NOW_MS + 12 * MINUTE_MS, NOW_MS + HOUR_MS)
    assert said(estimate, position=3) == [
        "It is number 3 in the queue, counted by when jobs can start.",
        "It will probably start in 12 min.",
        "Nine times in ten it starts within 1 h.",
        f"The estimate rests on {estimate.grounds.text}. {track_record(estimate.record)}",
    ]
    assert said(position=1) == ["It is the next in the queue."]


def test_what_lies_beyond_the_horizon_is_said() -> None:
    assert said(told(None, None))[0].startswith("It will probably not start within 7 d")
    assert said(told(NOW_MS, None))[:2] == [
        "It will probably start now.",
        "How late it may be is not known: one time in ten it takes over 7 d.",
    ]


def test_a_promise_says_where_and_when_with_the_exact_time() -> None:
    promise = Promise(job=JobId("j"), start_ms=NOW_MS + HOUR_MS, workers=(), made_ms=NOW_MS)
    (remark, limits) = when_it_starts(NOW_MS, position=None, promise=promise, told=None, limits="a job gives no limit")
    assert remark.text.endswith("starts there in 1 h, if not earlier.")
    assert remark.at is not None
    assert limits.text == "A job gives no limit."


def test_a_rough_estimate_says_that_it_is_rough() -> None:
    texts = [each.text for each in rough_start(NOW_MS, NOW_MS + HOUR_MS, "limits")]
    assert texts == ["It will probably start in 1 h.", "This is a rough guess from limits."]


def test_how_good_estimates_were_is_a_sentence() -> None:
    assert track_record(EstimateRecord()) == "No such estimate has been put to the test yet."
    many = "Of the last 40 such estimates of jobs that waited, 36 held: the job started in time."
    assert track_record(EstimateRecord(given=40, kept=36)) == many
    assert track_record(EstimateRecord(given=1, kept=1)).endswith("that waited held.")
    assert track_record(EstimateRecord(given=1, kept=0)).endswith("did not hold.")
