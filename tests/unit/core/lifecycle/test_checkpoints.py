"""From the parts that ranks save to the checkpoint that the next attempt resumes from."""

from muster.core.lifecycle.checkpoints import OTHERS_LISTED, follow, is_being_restored, resume_from
from muster.core.lifecycle.gang import up_when_complete
from muster.core.lifecycle.stopping import wake
from muster.model.events import CheckpointDamaged, CheckpointRemoved, CheckpointUploaded, ShardsSaved
from muster.model.ids import NodeName
from muster.model.instructions import AskCheckpoint, StartWorkers
from muster.model.job import Cause, Job, JobState
from muster.model.records import evolve
from tests.unit.core.lifecycle.builders import (
    HOUR_MS,
    JOB,
    MINUTE_MS,
    Played,
    a_spec,
    evict,
    exits,
    lost,
    running,
    start,
    that_saves,
    up,
)

SAVES = a_spec(checkpoint=that_saves())


def shards(job: Job, step: int, *ranks: int, world: int = 2, at_ms: int = HOUR_MS, cost_ms: int = 500) -> ShardsSaved:
    return ShardsSaved(
        at_ms=at_ms,
        job=JOB,
        attempt=job.attempt,
        node=NodeName("n0"),
        step=step,
        world=world,
        ranks=ranks,
        bytes=100 * len(ranks),
        cost_ms=cost_ms,
    )


def whole(job: Job, *steps: int, at_ms: int = HOUR_MS) -> list[ShardsSaved]:
    return [shards(job, step, 0, 1, at_ms=at_ms + step) for step in steps]


def damaged(job: Job, step: int) -> CheckpointDamaged:
    return CheckpointDamaged(at_ms=HOUR_MS, job=JOB, attempt=job.attempt, step=step, rank=1, problem="a byte differs")


def steps(job: Job) -> list[int]:
    return [each.step for each in job.checkpoints]


def resumed_step(played: Played) -> int | None:
    """The step that the workers of the next attempt are told."""
    job = played.job
    played.then(start(job, at_ms=2 * HOUR_MS))
    [command] = [each for each in played.instructions if isinstance(each, StartWorkers)]
    return command.resume_step


def test_a_checkpoint_counts_once_all_ranks_have_saved_their_part() -> None:
    played = running(SAVES)
    job = played.then(shards(played.job, 10, 0, at_ms=HOUR_MS, cost_ms=700)).job
    assert (job.checkpoints[0].ranks, job.checkpointed_ms, resume_from(job)) == ((0,), None, None)
    job = played.then(shards(job, 10, 1, at_ms=HOUR_MS + 9_000)).job
    [checkpoint] = job.checkpoints
    assert (checkpoint.is_complete, checkpoint.ranks, checkpoint.bytes) == (True, (), 200)
    assert (job.checkpointed_ms, job.checkpoint_cost_ms) == (HOUR_MS, 700)
    assert resume_from(job) == checkpoint


def test_a_part_that_is_reported_twice_counts_once() -> None:
    played = running(SAVES)
    first = shards(played.job, 10, 0)
    played.then(first, first)
    assert resume_from(played.job) is None
    complete = played.then(shards(played.job, 10, 1)).job
    assert played.then(shards(complete, 10, 1)).job == complete


def test_ranks_that_do_not_exist_do_not_count() -> None:
    played = running(SAVES)
    assert resume_from(played.then(shards(played.job, 10, 0, 7)).job) is None


def test_the_next_attempt_resumes_from_the_newest_complete_checkpoint() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), shards(played.job, 30, 0))
    played.then(evict(at_ms=HOUR_MS), exits(played.job, 0, 1, code=1, told=True))
    assert played.state is JobState.QUEUED
    assert resumed_step(played) == 20


def test_a_job_that_lost_a_node_resumes_too() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10), lost("n1"))
    played.then(exits(played.job, 0, code=1, told=True))
    assert resumed_step(played) == 10


def test_parts_of_an_older_attempt_are_not_mixed_with_new_ones() -> None:
    played = running(SAVES)
    played.then(shards(played.job, 10, 0), evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))
    played.then(start(played.job, at_ms=2 * HOUR_MS))
    played.then(up(played.job, at_ms=2 * HOUR_MS), shards(played.job, 10, 1, at_ms=3 * HOUR_MS))
    assert resume_from(played.job) is None
    assert resume_from(played.then(shards(played.job, 10, 0, at_ms=3 * HOUR_MS)).job) is not None


def test_parts_of_another_world_size_are_not_mixed() -> None:
    played = running(SAVES)
    played.then(shards(played.job, 10, 0, 1, 2, world=4), shards(played.job, 10, 0, world=2))
    assert [(each.world, each.ranks) for each in played.job.checkpoints] == [(2, (0,))]


def test_only_as_many_are_listed_as_are_kept_and_the_unfinished_have_a_bound() -> None:
    played = running(a_spec(checkpoint=evolve(that_saves(), keep=2)))
    played.then(*whole(played.job, 10, 20, 30))
    assert steps(played.job) == [20, 30]
    played.then(*(shards(played.job, step, 0) for step in range(31, 60)))
    assert steps(played.job) == [20, 30, *range(60 - OTHERS_LISTED, 60)]
    assert steps(played.then(*whole(played.job, 60)).job) == [30, 60]


def test_a_job_without_checkpoints_in_its_file_keeps_one() -> None:
    played = running(a_spec())
    assert steps(played.then(*whole(played.job, 10, 20)).job) == [20]


def test_a_damaged_checkpoint_ends_the_attempt_and_the_one_before_is_taken() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), damaged(played.job, 20))
    assert (played.state, played.job.cause) == (JobState.STOPPING, Cause.DAMAGED_CHECKPOINT)
    assert played.job.checkpoints[-1].problem == "rank 1: a byte differs"
    played.then(damaged(played.job, 20), exits(played.job, 0, 1, code=1, told=True))
    assert (played.state, played.job.retries_used, played.job.faults_in_a_row) == (JobState.QUEUED, 0, 1)
    assert resumed_step(played) == 10


def test_damage_that_is_found_while_a_job_leaves_is_noted() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), evict(at_ms=HOUR_MS), damaged(played.job, 20))
    assert played.state is JobState.CHECKPOINTING
    assert played.then(exits(played.job, 0, 1, told=True)).job.cause is Cause.PREEMPTED
    assert resumed_step(played) == 10


def test_an_attempt_that_cannot_restore_a_checkpoint_which_is_unknown_by_now_ends_too() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))
    played.then(start(played.job, at_ms=2 * HOUR_MS), CheckpointRemoved(at_ms=2 * HOUR_MS, job=JOB, step=20))
    assert played.then(damaged(played.job, 20)).job.cause is Cause.DAMAGED_CHECKPOINT
    unknown = running(SAVES)
    assert unknown.then(damaged(unknown.job, 20)).job.cause is Cause.DAMAGED_CHECKPOINT


def test_a_process_that_exits_before_its_damage_is_heard_of_costs_no_retry() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), exits(played.job, 0, code=1))
    assert played.job.cause is Cause.ERROR
    played.then(damaged(played.job, 20), exits(played.job, 1, code=1))
    assert (played.state, played.job.retries_used, played.job.cause) == (
        JobState.QUEUED,
        0,
        Cause.DAMAGED_CHECKPOINT,
    )


def test_work_is_safe_only_as_far_as_the_checkpoints_that_are_left_hold_it() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20, 30))
    assert played.job.checkpointed_ms == HOUR_MS + 30
    assert played.then(CheckpointRemoved(at_ms=HOUR_MS, job=JOB, step=10)).job.checkpointed_ms == HOUR_MS + 30
    assert played.then(CheckpointRemoved(at_ms=HOUR_MS, job=JOB, step=30)).job.checkpointed_ms == HOUR_MS + 20
    assert played.then(damaged(played.job, 20)).job.checkpointed_ms is None


def test_a_late_report_says_when_the_parts_were_written() -> None:
    played = running(SAVES)
    late = evolve(shards(played.job, 10, 0, at_ms=HOUR_MS), saved_ms=MINUTE_MS)
    played.then(shards(played.job, 10, 1, at_ms=HOUR_MS), late)
    assert (played.job.checkpoints[0].saved_ms, played.job.checkpointed_ms) == (MINUTE_MS, MINUTE_MS)


def test_a_later_step_was_not_saved_earlier_whatever_the_clock_of_its_node_says() -> None:
    played = running(a_spec(checkpoint=evolve(that_saves(), keep=1)))
    played.then(*whole(played.job, 10))
    behind = evolve(shards(played.job, 20, 0, 1, at_ms=2 * HOUR_MS), saved_ms=MINUTE_MS)
    played.then(behind)
    job = played.job
    assert steps(job) == [20]
    assert job.checkpoints[0].saved_ms == job.checkpointed_ms == HOUR_MS + 10


def test_a_copy_from_an_older_attempt_does_not_make_a_newer_save_durable() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), damaged(played.job, 20), exits(played.job, 0, 1, code=1, told=True))
    played.then(start(played.job, at_ms=2 * HOUR_MS))
    copied = CheckpointUploaded(at_ms=2 * HOUR_MS, job=JOB, attempt=1, step=20)
    newer = evolve(copied, attempt=2)
    assert not played.then(newer).job.checkpoints[-1].is_durable
    played.then(up(played.job, at_ms=2 * HOUR_MS), *whole(played.job, 20, at_ms=3 * HOUR_MS), copied)
    assert not played.job.checkpoints[-1].is_durable
    assert played.then(newer).job.checkpoints[-1].is_durable


def test_a_later_attempt_may_copy_what_an_earlier_one_saved() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10), evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))
    copied = CheckpointUploaded(at_ms=2 * HOUR_MS, job=JOB, attempt=2, step=10)
    assert played.then(start(played.job, at_ms=2 * HOUR_MS), copied).job.checkpoints[0].is_durable


def test_a_copy_made_by_an_attempt_that_the_log_has_forgotten_may_be_of_another_save() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10), evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))
    forgotten = evolve(played.job, attempt=3, attempt_seen=3)
    copied = CheckpointUploaded(at_ms=2 * HOUR_MS, job=JOB, attempt=3, step=10)
    assert not follow(forgotten, copied)[0].checkpoints[0].is_durable
    assert follow(evolve(forgotten, attempt=4), evolve(copied, attempt=4))[0].checkpoints[0].is_durable


def test_what_an_earlier_attempt_left_unfinished_does_not_crowd_out_a_save_behind_it() -> None:
    played = running(SAVES)
    played.then(*(shards(played.job, step, 0) for step in range(100, 100 + OTHERS_LISTED)))
    played.then(evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))
    played.then(start(played.job, at_ms=2 * HOUR_MS), up(played.job, at_ms=2 * HOUR_MS))
    played.then(shards(played.job, 10, 0), shards(played.job, 10, 1))
    newest = resume_from(played.job)
    assert newest is not None
    assert newest.step == 10


def test_a_checkpoint_is_being_restored_until_the_gang_that_was_told_of_it_runs() -> None:
    played = running(SAVES)
    assert not is_being_restored(played.job, 10)
    played.then(*whole(played.job, 10, 20), evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))
    played.then(start(played.job, at_ms=2 * HOUR_MS))
    assert (is_being_restored(played.job, 20), is_being_restored(played.job, 10)) == (True, False)
    assert not is_being_restored(played.then(up(played.job, at_ms=2 * HOUR_MS)).job, 20)


def test_a_late_report_does_not_bring_back_what_was_removed() -> None:
    played = running(SAVES)
    late = whole(played.job, 20)
    played.then(*whole(played.job, 10, 20), CheckpointRemoved(at_ms=HOUR_MS, job=JOB, step=20))
    removed = played.job
    assert played.then(*late).job is removed
    played.then(shards(played.job, 30, 0), CheckpointRemoved(at_ms=HOUR_MS, job=JOB, step=30), shards(removed, 30, 1))
    assert [each.step for each in played.job.checkpoints if each.is_good] == [10]


def test_copies_to_durable_storage_are_noted_also_after_the_attempt() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10), evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))

    def uploaded(step: int, problem: str = "") -> CheckpointUploaded:
        return CheckpointUploaded(at_ms=HOUR_MS, job=JOB, attempt=1, step=step, problem=problem)

    assert played.then(uploaded(10, "access denied")).job.upload_problem == "access denied"
    unchanged = played.job
    assert played.then(uploaded(10, "access denied")).job is unchanged
    assert not played.job.checkpoints[0].is_durable
    done = played.then(uploaded(10)).job
    assert (done.checkpoints[0].is_durable, done.upload_problem) == (True, "")
    assert played.then(uploaded(5)).job is done


def test_a_save_makes_the_next_request_wait_for_the_whole_interval() -> None:
    played = running(a_spec(checkpoint=that_saves(every_ms=10 * MINUTE_MS)))
    assert played.then(*whole(played.job, 10)).job.ask_ms == HOUR_MS + 10 + 10 * MINUTE_MS


def test_late_parts_of_an_ended_attempt_change_nothing() -> None:
    played = running(SAVES)
    late = whole(played.job, 10)
    played.then(evict(at_ms=HOUR_MS), exits(played.job, 0, 1, told=True))
    queued = played.job
    assert played.then(*late).job is queued


def test_a_damaged_checkpoint_stays_listed_beside_the_good_ones() -> None:
    played = running(a_spec(checkpoint=evolve(that_saves(), keep=1)))
    played.then(*whole(played.job, 10, 20), damaged(played.job, 20), exits(played.job, 0, 1, code=1, told=True))
    assert [(each.step, bool(each.problem)) for each in played.job.checkpoints] == [(20, True)]


def test_a_checkpoint_that_was_removed_is_not_resumed_from() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), CheckpointRemoved(at_ms=HOUR_MS, job=JOB, step=20))
    newest = resume_from(played.job)
    assert newest is not None
    assert newest.step == 10
    unchanged = played.job
    assert played.then(CheckpointRemoved(at_ms=HOUR_MS, job=JOB, step=20)).job is unchanged


def test_an_attempt_goes_on_whose_ranks_took_an_older_checkpoint_themselves() -> None:
    played = running(SAVES)
    played.then(*whole(played.job, 10, 20), evolve(damaged(played.job, 20), is_replaced=True))
    assert (played.state, played.instructions) == (JobState.RUNNING, [])
    newest = resume_from(played.job)
    assert newest is not None
    assert newest.step == 10


def test_a_job_whose_saves_take_long_is_asked_so_early_that_its_work_is_safe_within_an_interval() -> None:
    played = running(a_spec(checkpoint=that_saves(every_ms=10 * MINUTE_MS)))
    save = evolve(shards(played.job, 10, 0, 1), took_ms=2 * MINUTE_MS)
    assert played.then(save).job.ask_ms == HOUR_MS + 8 * MINUTE_MS
    again = up_when_complete(evolve(played.job, state=JobState.STARTING), 2 * HOUR_MS)
    assert again.ask_ms == 2 * HOUR_MS + 5 * MINUTE_MS  # it is safe after 4 min, and twice that is more than half


def test_an_attempt_is_told_what_earlier_saves_took() -> None:
    played = running(a_spec(checkpoint=that_saves(every_ms=10 * MINUTE_MS)))
    played.then(evolve(shards(played.job, 10, 0, 1), cost_ms=700, took_ms=2_000))
    again = up_when_complete(evolve(played.job, state=JobState.STARTING, attempt=2), 2 * HOUR_MS)
    assert again.ask_ms is not None
    _, (ask,) = wake(again, again.ask_ms)
    assert isinstance(ask, AskCheckpoint)
    assert (ask.every_ms, ask.cost_ms, ask.took_ms) == (10 * MINUTE_MS, 700, 2_000)
