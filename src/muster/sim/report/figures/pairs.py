"""Two policies job by job: what each job gains or loses when the other replaces the first."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.model.trace import TraceJob
from muster.sim.outcome import JobOutcome
from muster.sim.report.figures.contender import Contender, completion_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One job that finished under both policies."""

    job: TraceJob
    base_s: float
    """Its completion time under the first policy."""
    other_s: float

    @property
    def change_s(self) -> float:
        """How much later it ends under the other policy; below zero is sooner.

        Its total wait grows by the same amount, because the job computes the same. That wait is before its first start,
        after each time it had to leave, and while it repeats lost work.
        """
        return self.other_s - self.base_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two policies that are compared, and the jobs that finished under both."""

    base: Contender
    other: Contender
    jobs: Sequence[Compared]

    @property
    def left_out(self) -> int:
        """Jobs that did not finish under both."""
        return max(len(self.base.outcomes), len(self.other.outcomes)) - len(self.jobs)


def pair(base: Contender, other: Contender) -> Pair:
    """Match the jobs of two replays of one trace by their ids."""
    before = {each.job.id: each for each in base.outcomes}
    matched = ((before[each.job.id], each) for each in other.outcomes if each.job.id in before)
    compared = (_compared(one, another) for one, another in matched)
    return Pair(base=base, other=other, jobs=[each for each in compared if each is not None])


def _compared(before: JobOutcome, after: JobOutcome) -> Compared | None:
    base_s, other_s = completion_s(before), completion_s(after)
    if base_s is None or other_s is None:
        return None
    return Compared(job=after.job, base_s=base_s, other_s=other_s)
