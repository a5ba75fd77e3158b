"""Bugs in what becomes of checkpoints, planted like those in `planted_bugs.py`."""

from typing import Any

from muster.core.lifecycle import checkpoints, desired, endings
from muster.model.events import CheckpointDamaged
from muster.model.job import Cause, JobState
from muster.model.records import evolve
from tests.simulation.planted_bugs import Patch, Plant


def a_part_that_is_reported_twice_counts_twice(patch: Patch) -> None:
    honest = checkpoints._shards_saved

    def shards_saved(job: Any, event: Any) -> Any:
        known = checkpoints._known(job, event.step)
        if known is not None and not known.is_complete and known.ranks == event.ranks:
            missing = [rank for rank in range(event.world) if rank not in known.ranks]
            event = evolve(event, ranks=(*event.ranks, *missing[: len(event.ranks)]))
        return honest(job, event)

    patch.setattr(checkpoints, "_shards_saved", shards_saved)


def parts_of_two_attempts_are_mixed(patch: Patch) -> None:
    honest = checkpoints._shards_saved

    def shards_saved(job: Any, event: Any) -> Any:
        others = [each for each in job.checkpoints if each.step != event.step]
        mine = [each for each in job.checkpoints if each.step == event.step]
        taken = [evolve(each, attempt=event.attempt, world=event.world) for each in mine]
        mixed = sorted((*others, *taken), key=lambda each: each.step)
        return honest(evolve(job, checkpoints=tuple(mixed)), event)

    patch.setattr(checkpoints, "_shards_saved", shards_saved)


def one_part_makes_a_checkpoint_complete(patch: Patch) -> None:
    honest = checkpoints._shards_saved

    def shards_saved(job: Any, event: Any) -> Any:
        return honest(job, evolve(event, ranks=tuple(range(event.world))))

    patch.setattr(checkpoints, "_shards_saved", shards_saved)


def the_newest_is_taken_although_it_is_not_complete(patch: Patch) -> None:
    def resume_from(job: Any) -> Any:
        return next((each for each in reversed(job.checkpoints) if not each.problem and not each.is_removed), None)

    for module in (checkpoints, desired):
        patch.setattr(module, "resume_from", resume_from)


def a_damaged_checkpoint_is_resumed_from(patch: Patch) -> None:
    def resume_from(job: Any) -> Any:
        return next((each for each in reversed(job.checkpoints) if each.is_complete and not each.is_removed), None)

    for module in (checkpoints, desired):
        patch.setattr(module, "resume_from", resume_from)


def a_removed_checkpoint_is_resumed_from(patch: Patch) -> None:
    patch.setattr(checkpoints, "without", lambda job, _: evolve(job, upload_problem=f"{job.upload_problem}!"))


def the_oldest_good_checkpoint_is_taken(patch: Patch) -> None:
    def resume_from(job: Any) -> Any:
        return next((each for each in job.checkpoints if each.is_good), None)

    patch.setattr(desired, "resume_from", resume_from)


def a_save_under_way_displaces_the_good_ones(patch: Patch) -> None:
    def kept(job: Any, found: Any) -> Any:
        return tuple(found[-max(job.spec.checkpoint.keep, 1) :])

    patch.setattr(checkpoints, "_kept", kept)


def one_checkpoint_too_many_is_kept(patch: Patch) -> None:
    honest = checkpoints._kept

    def kept(job: Any, found: Any) -> Any:
        more = evolve(job.spec.checkpoint, keep=job.spec.checkpoint.keep + 1)
        return honest(evolve(job, spec=evolve(job.spec, checkpoint=more)), found)

    patch.setattr(checkpoints, "_kept", kept)


def the_newest_checkpoint_is_durable_whatever_was_copied(patch: Patch) -> None:
    honest = checkpoints._uploaded

    def uploaded(job: Any, event: Any) -> Any:
        newest = job.checkpoints[-1] if job.checkpoints else None
        if newest is None or event.problem:
            return honest(job, event)
        return honest(job, evolve(event, step=newest.step, attempt=newest.attempt))

    patch.setattr(checkpoints, "_uploaded", uploaded)


def a_copy_of_an_older_attempt_counts_for_a_newer_save(patch: Patch) -> None:
    honest = checkpoints._uploaded

    def uploaded(job: Any, event: Any) -> Any:
        known = checkpoints._known(job, event.step)
        return honest(job, event if known is None else evolve(event, attempt=known.attempt))

    patch.setattr(checkpoints, "_uploaded", uploaded)


def a_failed_copy_counts_as_done(patch: Patch) -> None:
    honest = checkpoints._uploaded
    patch.setattr(checkpoints, "_uploaded", lambda job, event: honest(job, evolve(event, problem="")))


def checkpoints_are_forgotten_when_the_job_waits_again(patch: Patch) -> None:
    honest = endings._requeued

    def requeued(job: Any, cause: Cause, at_ms: int) -> Any:
        return honest(evolve(job, checkpoints=()), cause, at_ms)

    patch.setattr(endings, "_requeued", requeued)


def a_damaged_checkpoint_costs_a_retry(patch: Patch) -> None:
    honest = endings._after

    def after(job: Any, cause: Cause, at_ms: int) -> Any:
        return honest(job, Cause.ERROR if cause is Cause.DAMAGED_CHECKPOINT else cause, at_ms)

    patch.setattr(endings, "_after", after)


def an_attempt_goes_on_although_it_cannot_restore(patch: Patch) -> None:
    honest = checkpoints.follow

    def follow(job: Any, event: Any) -> Any:
        is_early = isinstance(event, CheckpointDamaged) and job.state is JobState.STARTING
        return (job, ()) if is_early else honest(job, event)

    patch.setattr(checkpoints, "follow", follow)


def work_stays_safe_when_its_checkpoint_is_damaged(patch: Patch) -> None:
    patch.setattr(checkpoints, "_less_safe", lambda _, job: job)


def a_late_report_counts_as_a_late_save(patch: Patch) -> None:
    honest = checkpoints._shards_saved
    patch.setattr(checkpoints, "_shards_saved", lambda job, event: honest(job, evolve(event, saved_ms=None)))


PLANTED_IN_TRAINING: dict[Plant, int] = {
    a_part_that_is_reported_twice_counts_twice: 10,
    parts_of_two_attempts_are_mixed: 56,
    one_part_makes_a_checkpoint_complete: 10,
    the_newest_is_taken_although_it_is_not_complete: 29,
    a_damaged_checkpoint_is_resumed_from: 19,
    a_removed_checkpoint_is_resumed_from: 10,
    the_oldest_good_checkpoint_is_taken: 24,
    a_save_under_way_displaces_the_good_ones: 19,
    one_checkpoint_too_many_is_kept: 10,
    the_newest_checkpoint_is_durable_whatever_was_copied: 10,
    a_copy_of_an_older_attempt_counts_for_a_newer_save: 323,
    a_failed_copy_counts_as_done: 19,
    checkpoints_are_forgotten_when_the_job_waits_again: 10,
    a_damaged_checkpoint_costs_a_retry: 19,
    an_attempt_goes_on_although_it_cannot_restore: 168,
    work_stays_safe_when_its_checkpoint_is_damaged: 19,
    a_late_report_counts_as_a_late_save: 43,
}
"""As in `planted_bugs.py`."""
