"""A node that cannot be reached may still run what it ran: nothing of it is free before that is known to be gone."""

import pytest

from muster.core.lifecycle import occupied
from muster.model.events import NodeChanged, NodeUnreachable
from muster.model.ids import NodeName
from muster.model.instructions import KillWorkers, SignalStop
from muster.model.job import Cause, JobState
from muster.model.limits import FAILED_GANG_GRACE_MS
from muster.model.spec import Launch
from tests.builders import a_node
from tests.unit.core.lifecycle.builders import HOUR_MS, a_spec, cancel, exits, lost, no_start, running, timer


def down(name: str = "n0", *, at_ms: int = HOUR_MS) -> NodeUnreachable:
    return NodeUnreachable(at_ms=at_ms, node=NodeName(name), because="its supervisor has ended")


def test_the_gang_is_told_to_leave_and_keeps_its_gpus() -> None:
    played = running(a_spec(retries=0))
    before = occupied(played.job)
    played.then(down())
    assert (played.state, played.job.cause) == (JobState.STOPPING, Cause.NODE_FAILURE)
    assert occupied(played.job) == before
    told = [each for each in played.instructions if isinstance(each, SignalStop)]
    assert [each.ranks for each in told] == [(0, 1)]
    assert all(each.grace_ms <= FAILED_GANG_GRACE_MS for each in told)


def test_it_waits_again_only_when_the_last_worker_is_known_to_be_gone() -> None:
    played = running(a_spec(retries=0)).then(down())
    played.then(exits(played.job, 1, code=143))
    assert played.state == JobState.STOPPING
    played.then(exits(played.job, 0, code=137))
    assert (played.state, played.job.retries_used, played.job.node_failures) == (JobState.QUEUED, 0, 1)


@pytest.mark.parametrize("cause", ["swept", "never started"])
def test_a_node_that_was_swept_or_has_never_heard_of_the_worker_says_that_it_is_gone(cause: str) -> None:
    played = running(a_spec(retries=0)).then(down())
    played.then(exits(played.job, 1, code=143))
    played.then(lost("n0") if cause == "swept" else no_start(played.job, 0))
    assert (played.state, played.job.node_failures) == (JobState.QUEUED, 1)


def test_workers_that_had_finished_on_the_node_count_as_finished() -> None:
    played = running(a_spec(retries=0)).then(down())
    played.then(exits(played.job, 0, 1, code=0))
    assert played.state is JobState.SUCCEEDED


def test_a_cancelled_job_is_not_cancelled_while_a_worker_may_live() -> None:
    played = running(a_spec(retries=0)).then(down(), cancel())
    played.then(exits(played.job, 1, code=143))
    assert not played.state.is_final
    played.then(exits(played.job, 0, code=137))
    assert played.state is JobState.CANCELLED


def test_workers_that_do_not_leave_are_killed_again_and_again() -> None:
    played = running(a_spec(retries=0)).then(down())
    deadline_ms = played.job.deadline_ms
    assert deadline_ms is not None
    played.then(timer(deadline_ms))
    assert [type(each) for each in played.instructions if isinstance(each, KillWorkers)] == [KillWorkers]
    assert played.job.deadline_ms is not None
    assert played.job.deadline_ms > deadline_ms


@pytest.mark.parametrize("launch", [Launch.TORCHFT, Launch.TORCHRUN])
def test_a_framework_that_heals_goes_on_without_them_while_they_keep_their_gpus(launch: Launch) -> None:
    played = running(a_spec(workers=1, workers_max=2, launch=launch), size=2)
    before = occupied(played.job)
    played.then(down())
    assert (played.state, len(played.job.workers), len(played.job.leaving)) == (JobState.RUNNING, 1, 1)
    assert sorted(worker.rank for worker in occupied(played.job)) == sorted(worker.rank for worker in before)
    played.then(timer(HOUR_MS))
    assert [each.ranks for each in played.instructions if isinstance(each, KillWorkers)] == [(0,)]
    played.then(exits(played.job, 0, code=137))
    assert (played.state, played.job.leaving, played.job.node_failures) == (JobState.RUNNING, (), 1)


def test_a_gang_that_crashed_on_the_broken_connection_first_is_blamed_on_the_node() -> None:
    played = running(a_spec(retries=0))
    played.then(exits(played.job, 1, code=1), down())
    played.then(exits(played.job, 0, code=137))
    assert (played.state, played.job.cause) == (JobState.QUEUED, Cause.NODE_FAILURE)


def test_a_node_without_workers_of_the_job_changes_nothing() -> None:
    played = running(a_spec(retries=0))
    before = played.job
    played.then(down("n7"))
    assert played.job == before


def test_a_node_that_is_declared_down_is_as_one_that_cannot_be_reached() -> None:
    declared = NodeChanged(at_ms=HOUR_MS, node=a_node("n0", gpus=2, state="down"), because="on fire")
    assert running(a_spec()).then(declared).job == running(a_spec()).then(down()).job
