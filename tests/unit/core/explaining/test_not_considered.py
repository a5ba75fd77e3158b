"""Reasons that have nothing to do with room."""

import pytest

from muster.core.explaining.not_considered import not_considered, not_queued
from muster.model.ids import JobId
from muster.model.job import Job, JobState
from muster.model.plan import ReasonCode
from muster.model.records import evolve
from tests.builders import NOW_MS, a_job, waits

WAITING = Job(id=JobId("a.1"), spec=a_job(), state=JobState.BLOCKED, submitted_ms=NOW_MS, array_parent=JobId("a"))


def test_a_job_is_passed_over_for_each_reason_and_otherwise_for_none() -> None:
    job = waits("w", a_job())
    assert not_considered(job) == ()
    both = evolve(job, held=True, unmet=(JobId("x"),))
    assert [reason.code for reason in not_considered(both)] == [ReasonCode.HELD, ReasonCode.DEPENDENCY]


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.SUCCEEDED])
def test_a_job_that_runs_or_has_ended_waits_for_nothing(state: JobState) -> None:
    pausing = evolve(WAITING, not_before_ms=NOW_MS + 1, awaits_turn=True)
    assert not_queued(evolve(pausing, state=state), NOW_MS) == ()
    assert not_queued(WAITING, NOW_MS) == ()


def test_a_task_waits_for_its_turn_in_the_array() -> None:
    (reason,) = not_queued(evolve(WAITING, awaits_turn=True), NOW_MS)
    assert (reason.code, "its array a " in reason.message) == (ReasonCode.DEPENDENCY, True)


def test_a_job_that_pauses_says_when_it_is_tried_again() -> None:
    (reason,) = not_queued(evolve(WAITING, not_before_ms=NOW_MS + 1_500, faults_in_a_row=2), NOW_MS)
    assert reason.code is ReasonCode.NODE_HEALTH
    assert reason.would_help == "nothing needed: it is tried again in 2 s"
