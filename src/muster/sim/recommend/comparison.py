"""How much better one score is than another, what is worse, and what is too much worse.

Settings are compared by the mean completion time. A better mean that others pay for is no recommendation: each figure
below may become worse only so far.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from muster.sim.recommend.score import GroupWait, Score

NOISE = 0.02
"""A mean completion time that is better by less than this part is no better: the next weeks will differ by more."""

GROUP_JOBS = 20
"""Teams and tiers with fewer finished jobs are not compared: their means are those of single jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """From where on a figure counts as worse, and from where on as too much worse."""

    figure: str
    seen: float
    """A difference below this is not worth a word. Neither is one below `NOISE` of the figure."""
    most: float = inf
    """The largest part of the figure by which it may become worse; infinite if it is only reported."""
    slack: float = 0.0
    """By this much it may become worse in any case, so that small figures may change."""
    more_is_better: bool = False


BOUNDS = (
    Bound(figure="unfinished", seen=0, most=0),
    # The p99 of a few hundred jobs rests on a handful of them, so it has more room than a mean.
    Bound(figure="wait_p99_s", seen=60, most=0.25, slack=600),
    Bound(figure="unfair", seen=0.005, most=0, slack=0.02),
    Bound(figure="rho_worst", seen=0.1, most=0.5, slack=1),
    # What a restart costs is in the completion times already. So preemptions are told, and do not bar.
    Bound(figure="preemptions_per_job", seen=0.01),
    Bound(figure="utilisation", seen=0.005, more_is_better=True),
)
MOST_URGENT = Bound(figure="wait_mean_s", seen=60, most=0.1, slack=60)
"""For the most urgent tier that has jobs."""
OTHER_TIER = Bound(figure="wait_mean_s", seen=60)
ANY_TEAM = Bound(figure="wait_mean_s", seen=60, most=1, slack=600)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worse:
    """A figure that is worse than under the present policy by more than noise."""

    figure: str
    present: float
    then: float
    too_much: bool
    tier: str = ""
    """Set when it is about one tier; otherwise about one team, or about all jobs."""
    team: str = ""


def gain(present: Score, then: Score) -> float:
    """The part by which the mean completion time is shorter; negative if it is longer."""
    if not present.completion_mean_s:
        return 0.0
    return round(1 - then.completion_mean_s / present.completion_mean_s, 6)


def worsenings(present: Score, then: Score) -> tuple[Worse, ...]:
    """Everything that is worse, first what concerns all jobs, then tiers and teams."""
    found = [_worse(bound, getattr(present, bound.figure), getattr(then, bound.figure)) for bound in BOUNDS]
    for rank, (before, after) in enumerate(_pairs(present.tiers, then.tiers)):
        bound = OTHER_TIER if rank else MOST_URGENT
        found.append(_worse(bound, before.wait_mean_s, after.wait_mean_s, tier=before.name))
    for before, after in _pairs(present.teams, then.teams):
        found.append(_worse(ANY_TEAM, before.wait_mean_s, after.wait_mean_s, team=before.name))
    return tuple(each for each in found if each is not None)


def _pairs(present: tuple[GroupWait, ...], then: tuple[GroupWait, ...]) -> Iterator[tuple[GroupWait, GroupWait]]:
    """The groups that have enough jobs in both scores, in the order of the present one."""
    after = {group.name: group for group in then if group.jobs >= GROUP_JOBS}
    return ((group, after[group.name]) for group in present if group.jobs >= GROUP_JOBS and group.name in after)


def _worse(bound: Bound, present: float, then: float, *, tier: str = "", team: str = "") -> Worse | None:
    by = present - then if bound.more_is_better else then - present
    if by <= max(bound.seen, NOISE * present):
        return None
    too_much = by > max(bound.most * present, bound.slack) if bound.most < inf else False
    return Worse(figure=bound.figure, present=present, then=then, too_much=too_much, tier=tier, team=team)
