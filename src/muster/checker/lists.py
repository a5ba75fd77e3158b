"""Which job is in which list: no job in two lists that exclude each other, and no job forgotten."""

from collections import Counter
from collections.abc import Iterator

from muster.checker.facts import Facts
from muster.model.ids import JobId
from muster.model.job import WaitingJob
from muster.model.plan import Resize


def list_problems(facts: Facts) -> Iterator[str]:
    """Contradictions between the parts of a plan."""
    plan = facts.plan
    starts = [entry.job for entry in plan.starts]
    blocked = [job for entry in plan.blocked for job in entry.jobs]
    yield from _twice("started", starts)
    yield from _twice("evicted", [entry.job for entry in plan.evictions])
    yield from _twice("resized", [entry.job for entry in plan.resizes])
    yield from _twice("promised", [entry.job for entry in plan.promises])
    yield from _twice("blocked", blocked)
    yield from (f"{job} is started and promised a start" for job in starts if job in facts.promises)
    yield from (f"{job} is started and blocked" for job in starts if job in blocked)
    yield from (f"{job} is evicted and resized" for job in facts.evictions if job in facts.resizes)
    yield from _not_allowed(facts, starts)
    for resize in plan.resizes:
        yield from _resize_problems(facts, resize)
    for job in facts.scenario.waiting:
        if not _may_not(job) and job.id not in (*starts, *facts.promises, *blocked):
            yield f"{job.id} waits and nothing is said about it"


def _twice(what: str, jobs: list[JobId]) -> Iterator[str]:
    yield from (f"{job} is {what} twice" for job, count in Counter(jobs).items() if count > 1)


def _not_allowed(facts: Facts, starts: list[JobId]) -> Iterator[str]:
    for job in (*starts, *facts.promises):
        waiting = facts.waiting.get(job)
        if waiting is not None and _may_not(waiting):
            yield f"{job} may not start yet: it is held, or waits for its time or for another job"
    for job in (*facts.evictions, *facts.resizes):
        if facts.running[job].leaving_by_ms is not None:
            yield f"{job} is leaving already"
    for job in facts.promises:
        if job in facts.running and job not in facts.evictions and facts.running[job].leaving_by_ms is None:
            yield f"{job} runs and is promised a start"


def _may_not(job: WaitingJob) -> bool:
    return bool(job.held or job.unmet or job.early or job.awaits_turn)


def _resize_problems(facts: Facts, resize: Resize) -> Iterator[str]:
    before = facts.running[resize.job].workers
    if (resize.from_workers, resize.to_workers) != (len(before), len(resize.workers)):
        yield f"resize of {resize.job}: the sizes are not those of its workers"
    if facts.spec(resize.job).elastic_role is None:
        yield f"resize of {resize.job}: it is not elastic"
    if len(resize.workers) > len(before) and not facts.running[resize.job].can_grow:
        yield f"{resize.job} grows, and would lose its work by that"
    if len(resize.workers) < len(before) and resize.for_job not in facts.promises:
        yield f"{resize.job} shrinks for nobody who was promised a start"
