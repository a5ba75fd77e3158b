"""The figures as sentences."""

from collections.abc import Sequence

from muster.sim.report.figures.contender import Contender
from muster.sim.report.figures.pairs import Compared, Pair
from muster.sim.report.figures.quantiles import percentile
from muster.sim.report.figures.sizes import SizeClass, size_class
from muster.sim.report.figures.wording import (
    DAY_S,
    MINUTE_S,
    change_text,
    count_text,
    decimal_text,
    duration_text,
    list_text,
    percent_text,
    ratio_text,
)

NOTICED_S = MINUTE_S
"""A job whose end moves by less than this is called unchanged."""
LONG_WAIT_S = DAY_S
TELLING = 1.05
"""Medians closer than this factor are called equal."""


def alone(contender: Contender) -> str:
    """About one policy by itself."""
    finished, jobs = len(contender.completions_s), len(contender.outcomes)
    if not finished:
        return f"none of {count_text(jobs, 'job')} finished."
    p50, p99 = (duration_text(percentile(contender.completions_s, each)) for each in (50, 99))
    wait = duration_text(percentile(contender.waits_s, 50))
    return (
        f"{count_text(finished)} of {count_text(jobs, 'job')} finish, half of them within {p50} and 99\u00a0% within "
        f"{p99} of being submitted. The median job waits {wait} for its first start."
    )


def against(pair: Pair) -> str:
    """About two policies that are compared: completion, sizes, which jobs gain and lose, and at what price."""
    if not pair.jobs:
        return f"no job finished both here and under {pair.base.label}, so there is nothing to compare."
    parts = [_means(pair), _medians(pair), _gains(pair), _long_waits(pair), _price(pair.other)]
    return " ".join(part for part in parts if part)


def _means(pair: Pair) -> str:
    before = sum(each.base_s for each in pair.jobs) / len(pair.jobs)
    after = sum(each.other_s for each in pair.jobs) / len(pair.jobs)
    change = change_text(after, before)
    if change == "same":
        return f"mean completion stays at {duration_text(after)}, as under {pair.base.label}."
    return (
        f"mean completion {duration_text(after)} instead of {duration_text(before)} under {pair.base.label} ({change})."
    )


def _medians(pair: Pair) -> str:
    said = []
    for size in SizeClass:
        jobs = [each for each in pair.jobs if size_class(each.job) is size]
        if factor := _factor(jobs):
            said.append((factor, size))
    sooner = [f"{_times(factor)} {size.phrase}" for factor, size in said if factor >= TELLING]
    later = [f"{_times(1 / factor)} {size.phrase}" for factor, size in said if factor <= 1 / TELLING]
    halves = (f"{word}: {list_text(each)}" for word, each in (("sooner", sooner), ("later", later)) if each)
    said_of_both = "; ".join(halves)
    return f"The median job finishes {said_of_both}." if said_of_both else ""


def _factor(jobs: Sequence[Compared]) -> float | None:
    before = percentile(sorted(each.base_s for each in jobs), 50)
    after = percentile(sorted(each.other_s for each in jobs), 50)
    return before / after if before and after else None


def _times(factor: float) -> str:
    return f"{decimal_text(factor)}×" if factor >= 1.2 else f"{factor:.2f}×"


def _gains(pair: Pair) -> str:
    sooner = sum(each.change_s < -NOTICED_S for each in pair.jobs)
    later = sum(each.change_s > NOTICED_S for each in pair.jobs)
    same = len(pair.jobs) - sooner - later
    verb = "finishes" if sooner == 1 else "finish"
    unchanged = f"{count_text(same)} within a minute of before"
    return f"{count_text(sooner, 'job')} {verb} sooner, {count_text(later)} later and {unchanged}."


def _long_waits(pair: Pair) -> str:
    """About the total wait, which is completion minus run time. A job may start at once and then wait for days."""
    longer = [each.change_s for each in pair.jobs if each.change_s > LONG_WAIT_S]
    worst = max((each.change_s for each in pair.jobs), default=0)
    if longer:
        verb = "waits" if len(longer) == 1 else "wait"
        return (
            f"{count_text(len(longer), 'job')} {verb} more than 24\u00a0h longer in all, the worst by "
            f"{duration_text(worst)}."
        )
    if worst > NOTICED_S:
        return f"No job waits more than 24\u00a0h longer in all; the worst waits {duration_text(worst)} longer."
    return "No job waits longer."


def _price(contender: Contender) -> str:
    per_job, lost = contender.figure("preemptions_per_job"), contender.figure("lost_fraction")
    if not per_job:
        return ""
    return f"The price: {ratio_text(per_job)} preemptions per job and {percent_text(lost)} of GPU time lost."
