"""When a job next needs to be woken, and what its deadlines are.

All of this is computed from the job's record, so that timers survive a restart without being stored.
"""

from typing import Final

from muster.core.lifecycle.save_interval import NO_FAILURES, FailureRecord, gang_mtbf_ms, save_interval_ms
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
        return job.deadline_ms
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
    checkpoint = job.spec.checkpoint
    wanted_ms = stop_grace_ms if checkpoint is None else checkpoint.grace_ms
    return min(wanted_ms, max_duration_ms // 2)


def next_ask_ms(job: Job, at_ms: int) -> int | None:
    """When to ask for the next checkpoint, counted from the save, the request or the start at `at_ms`."""
    every_ms = save_every_ms(job)
    return None if every_ms is None else at_ms + every_ms


def save_every_ms(job: Job) -> int | None:
    """How long the job trains between saves; None when it cannot resume."""
    checkpoint = job.spec.checkpoint
    if checkpoint is None:
        return None
    if checkpoint.every_ms is not None or job.checkpoint_cost_ms is None:
        # The gang's size and failures do not matter here. Most reports of a save take this path.
        return save_interval_ms(checkpoint, cost_ms=None, nodes=0, record=NO_FAILURES)
    nodes = len({worker.node for worker in job.workers})
    return save_interval_ms(checkpoint, cost_ms=job.checkpoint_cost_ms, nodes=nodes, record=_failures_seen(job))


def interruption_every_ms(job: Job) -> int:
    """How long the job's nodes are expected to run, all together, until one of them fails."""
    return gang_mtbf_ms(nodes=len({worker.node for worker in job.workers}), record=_failures_seen(job))


def _failures_seen(job: Job) -> FailureRecord:
    """The failures of the job's nodes so far, and the node time in which it saw them."""
    nodes = len({worker.node for worker in job.workers})
    return FailureRecord(failures=job.node_failures, node_ms=_attained_node_ms(job, nodes))


def _attained_node_ms(job: Job, nodes: int) -> int:
    """The node time that the job has used so far, estimated from its GPU time."""
    return job.attained_gpu_ms * GPU_MILLI * nodes // max(gpu_milli(job), 1)
