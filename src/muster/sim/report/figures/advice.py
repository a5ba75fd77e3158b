"""What a reader should do, in one sentence: take the policy that is judged, or another, and at what price."""

from collections.abc import Sequence
from operator import itemgetter

from muster.sim.report.figures.contender import Contender, candidate
from muster.sim.report.figures.wording import count_text, duration_text, percent_text

ORACLES = ("sjf-oracle", "srsf-oracle")
"""Policies that know how long jobs will run, which no live system does."""
EQUAL = 1.02
"""Means closer than this factor do not decide between policies."""
UNFAIR_MORE = 0.05
"""From so many more unfair jobs on, the price of a policy is said."""


def advice(contenders: Sequence[Contender]) -> str:
    """One sentence. Policies that need to know the future are left out of it."""
    able = [each for each in contenders if each.replay.policy not in ORACLES]
    means = [(each, mean) for each in able if (mean := each.figure("jct_s", "mean")) is not None]
    if len(means) < 2:
        only = means[0][0].label if means else contenders[0].label
        return (
            f"Replay this trace under another policy as well, such as --policy fifo,{only}, to see what {only} brings."
        )
    judged = candidate([each for each, _ in means])
    best, best_mean = min(means, key=itemgetter(1))
    judged_mean = next(mean for each, mean in means if each is judged)
    if best is not judged and judged_mean > best_mean * EQUAL:
        return _other(best, best_mean, judged, judged_mean)
    return _judged(judged, judged_mean, means)


def _judged(judged: Contender, mean: float, means: Sequence[tuple[Contender, float]]) -> str:
    rivals = [pair for pair in means if pair[0] is not judged]
    nearest, nearest_mean = min(rivals, key=itemgetter(1))
    is_near = nearest_mean <= mean * EQUAL
    beside = "about as long as" if is_near else f"instead of {duration_text(nearest_mean)}"
    return (
        f"Use {judged.label}: jobs take {duration_text(mean)} on average from submission to end, {beside} under "
        f"{nearest.label}, the best of the others{_price(judged, nearest)}{_unfinished(judged)}."
    )


def _other(best: Contender, best_mean: float, judged: Contender, judged_mean: float) -> str:
    return (
        f"Use {best.label} rather than {judged.label} for jobs like these: they take {duration_text(best_mean)} on "
        f"average instead of {duration_text(judged_mean)} from submission to end{_price(best, judged)}"
        f"{_unfinished(best)}."
    )


def _price(chosen: Contender, other: Contender) -> str:
    """How many more jobs are treated unfairly, where that is worth a thought."""
    here, there = (each.figure("rho", "unfair_fraction") for each in (chosen, other))
    if here is None or there is None or here - there < UNFAIR_MORE:
        return ""
    return f", though {percent_text(here)} instead of {percent_text(there)} of them finish later than with a fair share"


def _unfinished(chosen: Contender) -> str:
    left = chosen.figure("unfinished")
    return f"; {count_text(left, 'job')} did not finish" if left else ""
