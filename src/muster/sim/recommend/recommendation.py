"""The history in two halves: settings are chosen on the first, and judged on the second, which had no part in it.

To choose, the first half of the jobs is replayed alone. To judge, all jobs are replayed and only those of the second
half are counted. So the second half begins as it would live: with jobs that already run and wait, and with run times
that were already learnt.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from muster.model.errors import InvalidInput
from muster.model.policy import Policy, Tier
from muster.model.records import evolve
from muster.model.team import Team
from muster.model.trace import Trace
from muster.policies import NamedPolicy
from muster.sim.outcome import Replay
from muster.sim.recommend.comparison import NOISE
from muster.sim.recommend.score import Score, score_of
from muster.sim.recommend.search import Search, TriedPolicy, search, trial_of

JOBS_MIN = 200
"""With fewer jobs a few long ones decide every mean."""

Replaying = Callable[[Trace, NamedPolicy], Replay]
"""Replays a trace under a policy, with everything else as in the question."""


class Advice(StrEnum):
    """What to do, and why."""

    CHANGE = "change"
    NOTHING_BETTER = "nothing_better"
    """Keep the policy: no setting gained more than noise on the first half without making others pay too much."""
    GAIN_NOT_CONFIRMED = "gain_not_confirmed"
    """Keep the policy: on the second half the best setting gained no more than noise."""
    HARM_FOUND = "harm_found"
    """Keep the policy: on the second half the best setting made something else too much worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondHalf:
    """The present policy and the best one on the half that did not choose it."""

    present: Score
    best: TriedPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What was tried on a history, and what follows from it."""

    trace: Trace
    """The period that was replayed, without jobs that ask for nothing."""
    split: int
    """How many jobs the first half has."""
    present: NamedPolicy
    chosen: Search
    """On the first half."""
    judged: SecondHalf | None
    """On the second half; None if nothing was worth judging."""
    replays: int

    @property
    def advice(self) -> Advice:
        """Whether to change the policy."""
        if self.judged is None:
            return Advice.NOTHING_BETTER
        if self.judged.best.gain <= NOISE:
            return Advice.GAIN_NOT_CONFIRMED
        return Advice.HARM_FOUND if self.judged.best.too_much else Advice.CHANGE

    @property
    def split_ms(self) -> int:
        """When the second half begins."""
        return self.trace.jobs[self.split].submit_ms


def recommend(
    trace: Trace, present: NamedPolicy, replaying: Replaying, *, teams: Sequence[Team], tiers: Sequence[Tier]
) -> Recommendation:
    """Look for better settings. Nothing is changed, and the same arguments give the same answer."""
    _check_rules(present)
    period = evolve(trace, jobs=tuple(job for job in trace.jobs if not job.asks_for_nothing))
    _check_jobs(period)
    split = len(period.jobs) // 2
    first_half = evolve(period, jobs=period.jobs[:split])

    def scored(rules: Policy, jobs: Trace, first: int) -> Score:
        made = replaying(jobs, replace(present, rules=rules))
        return score_of(made, teams=teams, tiers=tiers, first=first)

    chosen = search(present.rules, lambda rules: scored(rules, first_half, 0))
    judged = None
    if chosen.best is not None:
        now, then = (scored(rules, period, split) for rules in (present.rules, chosen.best.policy))
        judged = SecondHalf(present=now, best=trial_of(chosen.best.changes, chosen.best.policy, now, then))
    return Recommendation(
        trace=period,
        split=split,
        present=present,
        chosen=chosen,
        judged=judged,
        replays=1 + len(chosen.tried) + (0 if judged is None else 2),
    )


def _check_rules(present: NamedPolicy) -> None:
    """Refuse a policy that settings do not describe: there would be nothing to write into a file."""
    if present.planner is not None or present.knows_durations:
        raise InvalidInput(
            f"--recommend tries other settings of a policy, and {present.name} is not made of settings; "
            "take muster, fair or easy, or a file with a policy part"
        )


def _check_jobs(period: Trace) -> None:
    jobs = len(period.jobs)
    if jobs < JOBS_MIN:
        found = "1 job is" if jobs == 1 else f"{jobs} jobs are"
        raise InvalidInput(
            f"{period.name}: {found} too few to tell settings apart, {JOBS_MIN} are needed; take a longer trace, or a "
            "longer period with --since"
        )
