"""Checkpoints as they are sent, and why a job saves itself as often as it does."""

from muster.answers.checkpoints import Checkpoint, Saves
from muster.api.rendering.times import moment_of, seconds
from muster.backends.base import FoundCheckpoint
from muster.core.lifecycle.save_interval import pause_ms
from muster.core.lifecycle.timing import interruption_every_ms, node_count, save_every_ms, save_time
from muster.formats.text.units import duration_text
from muster.model import checkpoint as model
from muster.model.job import Job
from muster.model.limits import CHECKPOINT_ASKED_MIN_MS
from muster.train.store.steps import step_name

HOT, DURABLE = "hot", "durable"


def saves_body(job: Job) -> Saves | None:
    """How often a job saves itself, and why; None for a job that cannot resume."""
    every_ms = save_every_ms(job)
    if every_ms is None:
        return None
    because = _because(job) + _what_saves_take(job, every_ms)
    return Saves(every_s=seconds(every_ms), because=because, upload_problem=job.upload_problem or None)


def _because(job: Job) -> str:
    spec = job.spec.checkpoint
    if spec is not None and spec.every_ms is not None:
        is_less = spec.every_ms < CHECKPOINT_ASKED_MIN_MS
        return "the job file asks for less, and this is the least" if is_less else "the job file says so"
    if job.checkpoint_cost_ms is None:
        return "no save was measured yet"
    if not job.workers:
        return f"a save stalls {seconds(job.checkpoint_cost_ms):g} s"
    expected = duration_text(_rounded(interruption_every_ms(job)))
    return f"a save stalls {seconds(job.checkpoint_cost_ms):g} s, one interruption per {expected} expected"


def _what_saves_take(job: Job, every_ms: int) -> str:
    """What the duration of a save means for the interval, if it is a tenth of it or more."""
    time = save_time(job)
    safe_ms = time.safe_ms(node_count(job)) if time.took_ms else 0
    begins_ms = pause_ms(every_ms, safe_ms=safe_ms, took_ms=time.took_ms)
    if begins_ms + safe_ms > every_ms:
        lost = f"up to {seconds(begins_ms + safe_ms):.1f} s of work may be lost"
        return f"; but a save takes {seconds(safe_ms):.1f} s until it is safe, so {lost}"
    if safe_ms * 10 < every_ms:
        return ""
    begins = f"each begins {seconds(begins_ms):.1f} s after the one before"
    return f"; a save takes {seconds(safe_ms):.1f} s until it is safe, so {begins}"


def _rounded(duration_ms: int) -> int:
    """To whole hours, or below ten of them to whole minutes: an expectation has no seconds."""
    unit_ms = 3_600_000 if duration_ms >= 36_000_000 else 60_000
    return max(duration_ms // unit_ms, 1) * unit_ms


def checkpoint_body(checkpoint: model.Checkpoint, job: Job, *, unread: str | None = None) -> Checkpoint:
    """One checkpoint as the record of its job knows it. Those of jobs that have ended are on no node any more."""
    places = ((HOT, not job.state.is_final), (DURABLE, checkpoint.is_durable))
    return Checkpoint(
        step=checkpoint.step,
        at=moment_of(checkpoint.saved_ms),
        bytes=checkpoint.bytes,
        ranks=checkpoint.world,
        complete=checkpoint.is_complete,
        verified=False if checkpoint.problem else None,
        where=tuple(name for name, is_there in places if is_there),
        path=folder_of(job, checkpoint.step),
        problem=checkpoint.problem or None,
        unread=unread,
    )


def stored_body(stored: FoundCheckpoint, job: Job) -> Checkpoint:
    """One checkpoint as it was found in storage."""
    return Checkpoint(
        step=stored.step,
        at=moment_of(stored.saved_ms),
        bytes=stored.bytes,
        ranks=stored.ranks,
        complete=stored.is_complete,
        verified=stored.is_verified,
        where=stored.places,
        path=folder_of(job, stored.step),
        problem="; ".join(stored.problems) or None,
        unread=f"durable storage cannot be read: {stored.unread}" if stored.unread else None,
    )


def folder_of(job: Job, step: int) -> str:
    """Where a checkpoint is, or will be, in durable storage."""
    path = "" if job.spec.checkpoint is None else job.spec.checkpoint.path.rstrip("/")
    path = path if job.array_index is None else f"{path}/{job.array_index}"
    return f"{path}/{step_name(step)}"
