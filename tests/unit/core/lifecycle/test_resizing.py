"""Elastic jobs change size while their attempt goes on; frameworks that heal lose a node and go on."""

from muster.core.lifecycle import desired_commands, due_ms, occupied, transition
from muster.core.lifecycle.seats import reseat
from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Cause, JobState, Worker
from muster.model.limits import FAILED_GANG_GRACE_MS, KILL_REPEAT_MS
from muster.model.records import evolve
from muster.model.spec import Launch
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
    lost,
    no_start,
    renumbered,
    resize,
    running,
    starting,
    stop_of,
    timer,
    up,
    wake,
)

ELASTIC = a_spec(workers=2, workers_max=8, launch=Launch.TORCHRUN)
HEALING = a_spec(workers=2, workers_max=8, launch=Launch.TORCHFT)


def four() -> Played:
    return running(ELASTIC, size=4)


def test_a_shrink_signals_the_workers_that_leave_and_keeps_their_gpus_until_they_are_gone() -> None:
    played = four()
    generation = played.job.generation
    played.then(resize(a_gang(2)))
    job = played.job
    assert (job.state, job.attempt, job.generation) == (JobState.RUNNING, 1, generation + 1)
    assert played.instructions == [
        stop_of(job, 2, 3, grace_ms=GRACE_MS, cause=Cause.PREEMPTED),
        wake(HOUR_MS + GRACE_MS),
    ]
    assert occupied(job) == a_gang(4)
    played.then(exits(job, 2, code=1, told=True, at_ms=HOUR_MS + 1_000))
    assert occupied(played.job) == (*a_gang(2), *a_gang(1, first=3))
    played.then(exits(job, 3, code=0, told=True, at_ms=HOUR_MS + 1_000))
    assert occupied(played.job) == a_gang(2)
    assert (played.state, played.job.leaving_by_ms) == (JobState.RUNNING, None)
    assert played.job.attained_gpu_ms == 4 * HOUR_MS


def test_a_worker_that_does_not_leave_a_shrinking_gang_is_killed() -> None:
    played = four().then(resize(a_gang(3)), timer(HOUR_MS + GRACE_MS))
    assert played.state is JobState.RUNNING
    assert played.instructions == [
        kill_of(played.job, 3),
        wake(HOUR_MS + GRACE_MS + KILL_REPEAT_MS),
    ]


def test_growth_starts_only_the_new_workers_and_tells_them_of_the_whole_gang() -> None:
    played = running(ELASTIC).then(resize(a_gang(3)))
    job = played.job
    assert played.instructions == [
        StartWorkers(
            job=JOB,
            attempt=1,
            generation=job.generation,
            spec=ELASTIC,
            workers=a_gang(1, first=2),
            gang=a_gang(3),
            max_duration_ms=START_MS + LIMIT_MS - HOUR_MS,
            run=RUN,
        )
    ]
    assert (job.state, job.ready_ranks) == (JobState.RUNNING, (0, 1))
    assert played.then(up(job, 2)).job.ready_ranks == (0, 1, 2)
    assert played.then(exits(played.job, 0, 1, 2)).state is JobState.SUCCEEDED


def test_a_planner_may_number_the_gang_anew_without_restarting_a_worker() -> None:
    played = four()
    without_one = tuple(worker for worker in a_gang(4) if worker.rank != 1)
    played.then(resize(renumbered(without_one)))
    assert played.instructions[0] == stop_of(played.job, 1, grace_ms=GRACE_MS, cause=Cause.PREEMPTED)
    assert played.job.workers == without_one


def test_a_rank_is_not_used_again_in_the_same_attempt() -> None:
    played = four().then(resize(a_gang(3)))
    played.then(exits(played.job, 3, code=0, told=True), resize(a_gang(4)))
    assert [worker.rank for worker in played.job.workers] == [0, 1, 2, 4]
    assert played.job.workers[-1].node == "n3"
    assert played.then(exits(played.job, 3, code=1)).state is JobState.RUNNING


def test_replica_groups_have_distinct_numbers_whoever_was_lost_and_replaced() -> None:
    played = running(a_spec(workers=2, workers_max=4, launch=Launch.TORCHFT), size=4)
    for node, joined in (("n0", 4), ("n2", 6), ("n0", 8)):
        played.then(lost(node))
        played.then(resize(renumbered((*played.job.workers, evolve(a_gang(1)[0], node=NodeName(node))))))
        ranks = [worker.rank for worker in played.job.workers]
        assert ranks[-1] == joined
        assert sorted(rank % 4 for rank in ranks) == [0, 1, 2, 3]
        played.then(up(played.job, joined))


def test_a_gang_that_is_larger_than_it_may_be_still_numbers_its_newcomers() -> None:
    job = evolve(running(a_spec(workers=1, workers_max=2, launch=Launch.TORCHFT), size=2).job, workers=a_gang(3))
    assert [worker.rank for worker in reseat(job, a_gang(5)).joining] == [2, 3]


def test_a_resize_waits_for_the_one_before_and_for_no_worker_that_has_finished() -> None:
    shrinking = four().then(resize(a_gang(3))).job
    assert transition(shrinking, resize(a_gang(2))) == (shrinking, ())
    played = four()
    finishing = played.then(exits(played.job, 0)).job
    assert transition(finishing, resize(a_gang(5))) == (finishing, ())


def test_a_resize_that_changes_no_worker_or_all_of_them_is_ignored() -> None:
    job = four().job
    moved = tuple(evolve(worker, node=NodeName("elsewhere"), gpus=(worker.rank,)) for worker in a_gang(4))
    for workers in (a_gang(4), moved, ()):
        assert transition(job, resize(workers)) == (job, ())


def test_no_worker_joins_on_a_device_that_another_is_leaving() -> None:
    job = four().job
    taken_over = evolve(a_gang(4)[3], gpus=(0, 1))
    assert transition(job, resize((*a_gang(3), taken_over))) == (job, ())


def test_a_job_that_is_told_to_leave_takes_its_leavers_along() -> None:
    played = four().then(resize(a_gang(3)), evict(at_ms=HOUR_MS + 1))
    assert played.instructions[0] == stop_of(played.job, 0, 1, 2, 3, grace_ms=GRACE_MS, cause=Cause.PREEMPTED)
    played.then(exits(played.job, 0, 1, 2, code=1, told=True))
    assert played.state is JobState.CHECKPOINTING
    assert played.then(exits(played.job, 3, code=1, told=True)).state is JobState.QUEUED
    assert transition(played.job, resize(a_gang(2))) == (played.job, ())


def test_a_gang_that_finished_waits_for_its_leavers() -> None:
    played = four().then(resize(a_gang(3)))
    played.then(exits(played.job, 0, 1, 2))
    assert played.state is JobState.RUNNING
    assert played.then(exits(played.job, 3, code=1, told=True)).state is JobState.SUCCEEDED


def test_leavers_that_never_existed_or_vanish_with_their_node_have_left() -> None:
    played = four().then(resize(a_gang(2)))
    played.then(no_start(played.job, 2), lost("n3"))
    assert (played.state, played.job.leaving, played.job.node_failures) == (JobState.RUNNING, (), 0)
    assert played.instructions == [kill_of(played.job, 3), wake(due_ms(played.job) or 0)]
    finished = four().then(resize(a_gang(3)))
    finished.then(exits(finished.job, 0, 1, 2), lost("n3"))
    assert finished.state is JobState.SUCCEEDED


def test_newcomers_that_cannot_start_are_done_without() -> None:
    played = running(ELASTIC).then(resize(a_gang(4)))
    played.then(up(played.job, 2), no_start(played.job, 3))
    assert (played.state, played.instructions) == (JobState.RUNNING, [])
    assert played.job.workers == a_gang(3)


def test_a_member_that_turns_out_not_to_exist_breaks_the_gang() -> None:
    played = running(ELASTIC).then(resize(a_gang(3)))
    played.then(no_start(played.job, 0, 2))
    assert (played.state, played.job.cause) == (JobState.STOPPING, Cause.START_FAILURE)


def test_a_gang_can_change_size_before_it_is_complete() -> None:
    played = starting(ELASTIC, size=4)
    played.then(up(played.job, 0, 1), resize(a_gang(2)))
    assert played.state is JobState.RUNNING
    assert played.then(up(played.job, 2)).job.ready_ranks == (0, 1)


def test_a_framework_that_heals_survives_the_loss_of_a_node() -> None:
    played = running(HEALING, size=4).then(lost("n2"))
    job = played.job
    assert (job.state, job.node_failures, job.attempt) == (JobState.RUNNING, 1, 1)
    assert played.instructions == [kill_of(job, 2)]
    assert [worker.rank for worker in occupied(job)] == [0, 1, 3]
    assert job.attained_gpu_ms == 4 * (HOUR_MS - START_MS)
    assert played.then(exits(job, 0, 1, 3)).state is JobState.SUCCEEDED


def test_below_its_minimum_nothing_heals() -> None:
    played = running(HEALING, size=2).then(lost("n1"))
    assert played.instructions[1] == stop_of(played.job, 0, grace_ms=FAILED_GANG_GRACE_MS, cause=Cause.NODE_FAILURE)


def test_a_shrinking_job_is_described_again_with_its_leavers() -> None:
    job = four().then(resize(a_gang(3))).job
    stop, start = desired_commands(job, HOUR_MS)
    assert stop == stop_of(job, 3, grace_ms=GRACE_MS, cause=Cause.PREEMPTED)
    assert isinstance(start, StartWorkers)
    assert start.workers == a_gang(3)


def test_workers_that_leave_already_get_no_more_time_when_the_rest_is_told_to_leave() -> None:
    """A promise to another job may rest on their departure."""
    played = four().then(resize(a_gang(3)), cancel(HOUR_MS + 1_000))
    assert due_ms(played.job) == HOUR_MS + GRACE_MS
    played.then(timer(HOUR_MS + GRACE_MS))
    assert played.instructions == [kill_of(played.job, 3), wake(HOUR_MS + 1_000 + GRACE_MS)]
    assert not played.job.killed
    played.then(timer(HOUR_MS + 1_000 + GRACE_MS))
    assert played.instructions[0] == kill_of(played.job, 0, 1, 2, 3)
    assert (played.job.killed, played.job.leaving_by_ms) == (True, None)


def test_workers_with_equal_seats_are_told_apart_by_their_number() -> None:
    cpu = tuple(Worker(rank=rank, role="worker", node=NodeName("n0")) for rank in range(3))
    job = evolve(four().job, workers=cpu, next_rank=3)
    change = reseat(job, renumbered(cpu[:2]))
    assert (change.kept, change.leaving, change.joining) == (cpu[:2], cpu[2:], ())
