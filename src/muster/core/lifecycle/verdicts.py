"""What verdicts on the ranks of a job make of it: slow ranks are noted or replaced, and a hang is noted or ended.

Both are faults of the infrastructure as far as anybody knows, so a restart does not count against the job's retries.
A job with a straggler makes progress: it saves itself before it leaves, and is not restarted again and again. A job
that hangs cannot save itself any more.
"""

from typing import assert_never

from muster.core.lifecycle.seats import nodes_of
from muster.core.lifecycle.stopping import Step, abandon, tell_to_leave
from muster.model.events import HangFound, HangOver, StragglerFound, StragglerGone, VerdictEvent
from muster.model.ids import NodeName
from muster.model.job import Cause, Job, JobState
from muster.model.limits import REMEDIES_PER_HOUR
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.spec import Remedy


def follow(job: Job, event: VerdictEvent) -> Step:
    """The job after a verdict on its present attempt."""
    match event:
        case StragglerFound():
            return _slowed(job, event)
        case StragglerGone():
            kept = tuple(each for each in job.stragglers if each.rank != event.rank)
            return (job if kept == job.stragglers else evolve(job, stragglers=kept)), ()
        case HangFound():
            return _hung(job, event)
        case HangOver():
            return (job if job.hang is None else evolve(job, hang=None)), ()
        case _:
            assert_never(event)


def avoided_nodes(before: Job, after: Job, event: VerdictEvent) -> tuple[NodeName, ...]:
    """The nodes that the job leaves because of a verdict, and should not come back to if it fits elsewhere."""
    if before.state is not JobState.RUNNING or after.state is not JobState.STOPPING:
        return ()
    match event:
        case StragglerFound() if after.spec.on_straggler is Remedy.REPLACE:
            return (event.straggler.node,)
        case HangFound() if after.spec.on_hang is Remedy.REPLACE:
            return event.hang.nodes
        case _:
            return ()


def _slowed(job: Job, event: StragglerFound) -> Step:
    """Note a slow rank. If the job asked for it, it saves itself and starts again."""
    straggler = event.straggler
    others = [each for each in job.stragglers if each.rank != straggler.rank]
    noted = evolve(job, stragglers=tuple(sorted((*others, straggler), key=lambda each: each.rank)))
    is_known = len(others) < len(job.stragglers)
    recent = tuple(each for each in job.remedied_ms if each > event.at_ms - HOUR_MS)
    remedy = job.spec.on_straggler
    if remedy is Remedy.REPORT or job.state is not JobState.RUNNING or is_known or len(recent) >= REMEDIES_PER_HOUR:
        return noted, ()
    leaving = evolve(noted, remedied_ms=(*recent, event.at_ms))
    if remedy is Remedy.REPLACE:
        leaving = _away_from(leaving, (straggler.node,))
    return tell_to_leave(leaving, event.at_ms, cause=Cause.STRAGGLER, by_ms=event.at_ms + job.grace_ms)


def _hung(job: Job, event: HangFound) -> Step:
    """Note that the job stands still. If it asked for it, it is ended and starts again."""
    noted = evolve(job, hang=event.hang)
    remedy = job.spec.on_hang
    if remedy is Remedy.REPORT or job.state is not JobState.RUNNING:
        return noted, ()
    leaving = _away_from(noted, event.hang.nodes) if remedy is Remedy.REPLACE else noted
    return abandon(leaving, event.at_ms, cause=Cause.HANG)


def _away_from(job: Job, nodes: tuple[NodeName, ...]) -> Job:
    """The job with a preference to start again on its other nodes, where its data is."""
    return evolve(job, preferred_nodes=tuple(each for each in nodes_of(job.workers) if each not in nodes))
