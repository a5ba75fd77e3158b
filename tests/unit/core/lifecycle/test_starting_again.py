"""A gang that cannot change its size in place starts again, on seats that it keeps, with ranks from 0 without gaps."""

import pytest

from muster.core.lifecycle import due_ms, occupied, transition
from muster.core.lifecycle.resizing import next_attempt
from muster.model.events import JobUpdated, NodeChanged, NodeUnreachable
from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Cause, Job, JobState, Placement
from muster.model.node import Node, NodeState
from muster.model.records import evolve
from muster.model.requests import JobHeld
from muster.model.spec import JobChanges, Launch
from tests.unit.core.lifecycle.builders import (
    GRACE_MS,
    HOUR_MS,
    JOB,
    LIMIT_MS,
    START_MS,
    Played,
    a_gang,
    a_spec,
    cancel,
    evict,
    exits,
    lost,
    renumbered,
    resize,
    running,
    stop_of,
    wake,
)

LATER_MS = HOUR_MS + 5_000


def four(launch: Launch = Launch.PLAIN) -> Played:
    return running(a_spec(workers=2, workers_max=8, launch=launch), size=4)


def left(played: Played) -> Played:
    """All workers have left, as they were told."""
    return played.then(exits(played.job, 0, 1, 2, 3, code=1, told=True, at_ms=LATER_MS))


def started_again(before: Job, after: Job) -> Job:
    """The job after the start that follows from the departure of its last worker."""
    start = next_attempt(before, after, LATER_MS)
    assert start is not None
    return transition(after, start)[0]


def changed(node: str, state: NodeState, *, bad: tuple[int, ...] = ()) -> NodeChanged:
    return NodeChanged(at_ms=HOUR_MS, node=Node(name=NodeName(node), gpus=2, state=state, bad_gpus=bad))


@pytest.mark.parametrize("launch", [Launch.PLAIN, Launch.MPI, Launch.JAX])
def test_all_workers_save_and_leave_and_the_next_attempt_counts_from_zero(launch: Launch) -> None:
    played = four(launch).then(resize(a_gang(2)))
    leaving = played.job
    assert (leaving.state, leaving.cause, leaving.attempt) == (JobState.CHECKPOINTING, Cause.RESIZED, 1)
    assert played.instructions == [
        stop_of(leaving, 0, 1, 2, 3, grace_ms=GRACE_MS, cause=Cause.RESIZED),
        wake(HOUR_MS + GRACE_MS),
    ]
    waiting = left(played).job
    assert (waiting.state, waiting.preemptions, waiting.retries_used) == (JobState.QUEUED, 0, 0)
    again = started_again(leaving, waiting)
    assert (again.state, again.attempt, again.workers) == (JobState.STARTING, 2, a_gang(2))
    assert (again.next_gang, again.resized_ms, again.cause) == ((), LATER_MS, None)


@pytest.mark.parametrize("launch", [Launch.TORCHRUN, Launch.TORCHFT])
def test_a_gang_that_gives_up_its_first_worker_starts_again_whatever_its_launcher(launch: Launch) -> None:
    without_first = renumbered(a_gang(4)[2:])
    played = four(launch).then(resize(without_first))
    again = started_again(played.job, left(played).job)
    assert again.workers == without_first
    assert [worker.rank for worker in again.workers] == [0, 1]


def test_ranks_that_planning_did_not_number_are_numbered() -> None:
    played = four().then(resize(a_gang(4)[2:]))
    assert [worker.rank for worker in played.job.next_gang] == [0, 1]


def test_the_seats_of_the_next_attempt_are_kept_and_paid_while_the_workers_leave() -> None:
    played = four().then(resize(a_gang(6)))
    assert occupied(played.job) == a_gang(6)
    assert left(played).job.attained_gpu_ms == 4 * (HOUR_MS - START_MS) + 6 * (LATER_MS - HOUR_MS)


def test_its_maximum_duration_goes_on() -> None:
    played = four().then(resize(a_gang(2)))
    again = started_again(played.job, left(played).job)
    assert (again.ends_by_ms, again.started_ms, again.grace_ms) == (START_MS + LIMIT_MS, LATER_MS, GRACE_MS)
    longer = JobUpdated(at_ms=LATER_MS, job=JOB, changes=JobChanges(max_duration_ms=2 * LIMIT_MS))
    assert transition(again, longer)[0].ends_by_ms == START_MS + 2 * LIMIT_MS
    third, (told, *_) = transition(evolve(again, state=JobState.RUNNING), resize(a_gang(3), attempt=2))
    assert not isinstance(told, StartWorkers)
    gone = transition(third, exits(third, 0, 1, code=1, told=True, at_ms=LATER_MS))[0]
    assert started_again(third, gone).ends_by_ms == START_MS + LIMIT_MS


def test_work_that_ends_while_it_leaves_is_done() -> None:
    played = four().then(resize(a_gang(2)))
    assert played.then(exits(played.job, 0, 1, 2, 3)).state is JobState.SUCCEEDED
    assert next_attempt(played.job, played.job, LATER_MS) is None


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (evict(at_ms=HOUR_MS), Cause.PREEMPTED),
        (cancel(), Cause.CANCELLED),
        (changed("n1", NodeState.DRAINING), Cause.RESIZED),
        (changed("n1", NodeState.READY, bad=(0,)), Cause.RESIZED),
        (NodeUnreachable(at_ms=HOUR_MS, node=NodeName("n1")), Cause.NODE_FAILURE),
        (lost("n1"), Cause.NODE_FAILURE),
    ],
)
def test_it_does_not_start_again_at_once_when(event: object, cause: Cause) -> None:
    played = four().then(resize(a_gang(2)), event)  # type: ignore[arg-type]
    assert (played.job.next_gang, played.job.cause, due_ms(played.job)) == ((), cause, HOUR_MS + GRACE_MS)
    before, after = played.job, left(played).job
    assert not after.state.holds_resources
    assert next_attempt(before, after, LATER_MS) is None


@pytest.mark.parametrize("node", ["n3", "n9"])
def test_nodes_that_it_does_not_need_any_more_do_not_matter(node: str) -> None:
    kept: Placement = a_gang(2)
    for event in (changed(node, NodeState.DRAINING), NodeUnreachable(at_ms=HOUR_MS, node=NodeName(node))):
        assert four().then(resize(kept), event).job.next_gang == kept
    assert four().then(resize(kept), changed("n1", NodeState.SUSPECT)).job.next_gang == kept


def test_a_job_that_lost_a_seat_of_its_next_attempt_prefers_the_others() -> None:
    played = four().then(resize(a_gang(6)), lost("n5"))
    assert played.job.preferred_nodes == ("n0", "n1", "n2", "n3", "n4")


def test_a_held_job_does_not_start_again() -> None:
    played = four().then(resize(a_gang(2)), JobHeld(at_ms=HOUR_MS, job=JOB))
    before, after = played.job, left(played).job
    assert (after.state, after.next_gang) == (JobState.HELD, ())
    assert next_attempt(before, after, LATER_MS) is None


def test_it_does_not_change_its_size_twice_at_once() -> None:
    job = four().then(resize(a_gang(2))).job
    assert transition(job, resize(a_gang(3))) == (job, ())
