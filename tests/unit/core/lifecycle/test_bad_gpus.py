"""A GPU that goes bad is not the user's fault: a gang that fails on one is tried again whatever its retries."""

import pytest

from muster.model.events import NodeChanged
from muster.model.job import Cause, JobState
from muster.model.limits import FAULTS_IN_A_ROW
from tests.builders import a_node
from tests.unit.core.lifecycle.builders import HOUR_MS, Played, a_spec, evict, exits, running, start, up


def reported(*bad_gpus: int, name: str = "n1", at_ms: int = HOUR_MS) -> NodeChanged:
    return NodeChanged(at_ms=at_ms, node=a_node(name, gpus=2, bad_gpus=bad_gpus))


def ended(played: Played) -> tuple[JobState, Cause | None, int, int]:
    job = played.job
    return job.state, job.cause, job.retries_used, job.node_failures


@pytest.mark.parametrize("failed", [0, 1], ids=["the other one", "the one on it"])
def test_a_gang_that_fails_on_a_bad_gpu_waits_again_without_using_a_retry(failed: int) -> None:
    played = running(a_spec(retries=0)).then(reported(0))
    assert (played.state, played.instructions) == (JobState.RUNNING, [])
    played.then(exits(played.job, failed, code=1))
    assert (played.state, played.job.cause) == (JobState.STOPPING, Cause.NODE_FAILURE)
    played.then(exits(played.job, 1 - failed, code=1))
    assert ended(played) == (JobState.QUEUED, Cause.NODE_FAILURE, 0, 1)


def test_a_bad_gpu_explains_a_crash_that_was_noticed_first() -> None:
    played = running(a_spec(retries=0))
    played.then(exits(played.job, 1, code=1), reported(0))
    played.then(exits(played.job, 0, code=1))
    assert ended(played) == (JobState.QUEUED, Cause.NODE_FAILURE, 0, 1)


@pytest.mark.parametrize(
    "event", [reported(1), reported(0, name="n7"), reported()], ids=["another GPU", "another node", "none"]
)
def test_a_gang_that_fails_beside_a_bad_gpu_fails_by_itself(event: NodeChanged) -> None:
    played = running(a_spec(retries=0)).then(event)
    played.then(exits(played.job, code=1))
    assert ended(played) == (JobState.FAILED, Cause.ERROR, 0, 0)


def test_a_gpu_that_was_found_to_be_good_again_explains_nothing() -> None:
    played = running(a_spec(retries=0)).then(reported(0), reported())
    played.then(exits(played.job, code=1))
    assert ended(played) == (JobState.FAILED, Cause.ERROR, 0, 0)


def test_running_out_of_memory_and_success_are_what_they_are_on_a_bad_gpu_as_well() -> None:
    played = running(a_spec(retries=0)).then(reported(0))
    played.then(exits(played.job, code=137, oom=True))
    assert ended(played) == (JobState.FAILED, Cause.OOM, 0, 0)
    played = running(a_spec(retries=0)).then(reported(0))
    played.then(exits(played.job))
    assert ended(played) == (JobState.SUCCEEDED, Cause.COMPLETED, 0, 0)


def test_a_bad_gpu_does_not_change_why_a_job_was_told_to_leave() -> None:
    played = running().then(evict(at_ms=HOUR_MS), reported(0))
    played.then(exits(played.job, code=1))
    assert (played.state, played.job.cause) == (JobState.QUEUED, Cause.PREEMPTED)


def test_the_next_attempt_knows_nothing_of_the_bad_gpu() -> None:
    played = running(a_spec(retries=0)).then(reported(0))
    played.then(exits(played.job, code=1))
    assert played.job.bad_ranks == ()
    played.then(start(played.job))
    played.then(up(played.job))
    played.then(exits(played.job, code=1))
    assert ended(played) == (JobState.FAILED, Cause.ERROR, 0, 1)


def test_a_job_that_meets_nothing_but_bad_gpus_is_given_up() -> None:
    played = running(a_spec(retries=0))
    for _ in range(FAULTS_IN_A_ROW - 1):
        played.then(reported(0), exits(played.job, code=1))
        assert played.state is JobState.QUEUED
        played.then(start(played.job))
        played.then(up(played.job))
    played.then(reported(0))
    played.then(exits(played.job, code=1))
    assert played.state is JobState.FAILED
