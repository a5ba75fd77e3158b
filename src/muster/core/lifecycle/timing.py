"""When a job next needs to be woken, and what its deadlines are.

All of this is computed from the job's record, so that timers survive a restart without being stored.
"""

from typing import Final

from muster.core.lifecycle.save_interval import (
    FIRST_SAVE_MS,
    NO_FAILURES,
    FailureRecord,
    SaveTime,
    gang_mtbf_ms,
    pause_ms,
    save_interval_ms,
)
from muster.core.lifecycle.seats import gpu_milli
from muster.model.job import Job, JobState
from muster.model.limits import START_TIMEOUT_MS
from muster.model.resources import GPU_MILLI

_RUNNING: Final = JobState.RUNNING
_STARTING: Final = JobState.STARTING
_BLOCKED: Final = JobState.BLOCKED
"""Looked up once: every event calls `due_ms`, and finding these would cost more than the rest of the function."""


def due_ms(job: Job) -> int | None:
    """The earliest time at which the passing of time alone changes something for the job; None if it never does."""
    state = job.state
    if state is _RUNNING:
        return _soonest(_soonest(notice_ms(job), job.ask_ms), job.leaving_by_ms)
    if state is _STARTING:
        return _soonest(_soonest(notice_ms(job), start_timeout_ms(job)), job.leaving_by_ms)
    if state.holds_resources:
        return _soonest(job.deadline_ms, job.leaving_by_ms)
    return job.not_before_ms if state is _BLOCKED else None


def _soonest(one_ms: int | None, other_ms: int | None) -> int | None:
    if one_ms is None or other_ms is None:
        return one_ms if other_ms is None else other_ms
    return min(other_ms, one_ms)


def is_due(moment_ms: int | None, at_ms: int) -> bool:
    """True when the moment is set and has come."""
    return moment_ms is not None and moment_ms <= at_ms


def notice_ms(job: Job) -> int | None:
    """When the job is told that its maximum duration ends: one grace period earlier, so that it has left by then."""
    return None if job.ends_by_ms is None else job.ends_by_ms - job.grace_ms


def left_ms(job: Job, at_ms: int) -> int | None:
    """How much of its maximum duration the present attempt has left."""
    return None if job.ends_by_ms is None else max(job.ends_by_ms - at_ms, 0)


def start_timeout_ms(job: Job) -> int | None:
    """When a gang that is still not complete is given up."""
    return None if job.started_ms is None else job.started_ms + START_TIMEOUT_MS


def grace_ms(job: Job, *, stop_grace_ms: int, max_duration_ms: int) -> int:
    """The grace period of an attempt, from its file or the policy. Never more than half of its maximum duration."""
    return min(job.spec.grace_ms(stop_grace_ms), max_duration_ms // 2)


def first_ask_ms(job: Job, at_ms: int) -> int | None:
    """When to ask an attempt that runs since `at_ms` for its first checkpoint: it should be safe after an interval."""
    every_ms = save_every_ms(job)
    if every_ms is None:
        return None
    is_known = job.checkpoint_took_ms is not None
    safe_ms = save_time(job).safe_ms(node_count(job)) if is_known else FIRST_SAVE_MS
    return at_ms + pause_ms(every_ms, safe_ms=safe_ms, took_ms=0)


def next_ask_ms(job: Job, at_ms: int) -> int | None:
    """When to ask for the next checkpoint, counted from the save or the request at `at_ms`.

    A training that saves by itself has saved again by then.
    """
    every_ms = save_every_ms(job)
    return None if every_ms is None else at_ms + max(every_ms - (job.checkpoint_took_ms or 0), every_ms // 2)


def save_time(job: Job) -> SaveTime:
    """How long the last save of the job took, as far as it is known."""
    return SaveTime(cost_ms=job.checkpoint_cost_ms or 0, took_ms=job.checkpoint_took_ms or 0)


def node_count(job: Job) -> int:
    """On how many nodes the job has workers."""
    return len({worker.node for worker in job.workers})


def save_every_ms(job: Job) -> int | None:
    """How long the job trains between saves; None when it cannot resume."""
    checkpoint = job.spec.checkpoint
    if checkpoint is None:
        return None
    if checkpoint.every_ms is not None or job.checkpoint_cost_ms is None:
        # The gang's size and failures do not matter here. Most reports of a save take this path.
        return save_interval_ms(checkpoint, cost_ms=None, nodes=0, record=NO_FAILURES)
    record = _failures_seen(job)
    return save_interval_ms(checkpoint, cost_ms=job.checkpoint_cost_ms, nodes=node_count(job), record=record)


def interruption_every_ms(job: Job) -> int:
    """How long the job's nodes are expected to run, all together, until one of them fails."""
    return gang_mtbf_ms(nodes=node_count(job), record=_failures_seen(job))


def _failures_seen(job: Job) -> FailureRecord:
    """The failures of the job's nodes so far, and the node time in which it saw them."""
    return FailureRecord(failures=job.node_failures, node_ms=_attained_node_ms(job, node_count(job)))


def _attained_node_ms(job: Job, nodes: int) -> int:
    """The node time that the job has used so far, estimated from its GPU time."""
    return job.attained_gpu_ms * GPU_MILLI * nodes // max(gpu_milli(job), 1)
