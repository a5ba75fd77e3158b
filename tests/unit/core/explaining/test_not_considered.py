"""Reasons that have nothing to do with room."""

import pytest

from muster.core.explaining.not_considered import NOT_STARTED, not_considered, not_queued
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.plan import ReasonCode
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.spec import Begin
from tests.builders import NOW_MS, a_job, waits

WAITING = Job(id=JobId("a.1"), spec=a_job(), state=JobState.BLOCKED, submitted_ms=NOW_MS, array_parent=JobId("a"))


def test_a_job_is_passed_over_for_each_reason_and_otherwise_for_none() -> None:
    job = waits("w", a_job())
    assert not_considered(job, NOW_MS) == ()
    both = evolve(job, held=True, unmet=(JobId("x"),))
    assert [reason.code for reason in not_considered(both, NOW_MS)] == [ReasonCode.HELD, ReasonCode.DEPENDENCY]


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.SUCCEEDED])
def test_a_job_that_runs_or_has_ended_waits_for_nothing(state: JobState) -> None:
    pausing = evolve(WAITING, not_before_ms=NOW_MS + 1, awaits_turn=True)
    assert not_queued(evolve(pausing, state=state), NOW_MS) == ()
    assert not_queued(WAITING, NOW_MS) == ()


def test_a_task_waits_for_its_turn_in_the_array() -> None:
    (reason,) = not_queued(evolve(WAITING, awaits_turn=True), NOW_MS)
    assert not_considered(waits("a.1", a_job(), awaits_turn=True), NOW_MS) == (reason,)
    assert (reason.code, "its array a " in reason.message) == (ReasonCode.DEPENDENCY, True)


def test_a_job_that_pauses_says_when_it_is_tried_again() -> None:
    (reason,) = not_queued(evolve(WAITING, not_before_ms=NOW_MS + 1_500, faults_in_a_row=2), NOW_MS)
    assert (reason.code, reason.rule) == (ReasonCode.NODE_HEALTH, NOT_STARTED)
    assert reason.would_help == "nothing needed: it is tried again in 2 s"


def test_a_job_that_is_not_to_begin_yet_says_when_it_is_queued() -> None:
    spec = a_job(begin=Begin(at_ms=NOW_MS + 3 * HOUR_MS))
    (reason,) = not_queued(evolve(WAITING, spec=spec, not_before_ms=NOW_MS + 3 * HOUR_MS), NOW_MS)
    assert (reason.code, reason.message) == (
        ReasonCode.BEGIN,
        "its user asked that it not start before 1970-02-11T19:00:00Z",
    )
    assert reason.would_help.startswith("nothing needed: it is queued in 3 h;")
    waiting = waits("w", a_job(begin=Begin(after_ms=2 * HOUR_MS)), early=True)
    assert [each.code for each in not_considered(waiting, NOW_MS)] == [ReasonCode.BEGIN]


def test_a_job_that_is_held_and_not_to_begin_yet_says_both() -> None:
    spec = a_job(begin=Begin(after_ms=HOUR_MS))
    early = evolve(WAITING, spec=spec, not_before_ms=NOW_MS + HOUR_MS, held=True, unmet=(JobId("x"),))
    codes = [reason.code for reason in not_queued(early, NOW_MS)]
    assert codes == [ReasonCode.BEGIN, ReasonCode.HELD, ReasonCode.DEPENDENCY]
