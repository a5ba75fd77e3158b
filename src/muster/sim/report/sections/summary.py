"""The table at the top: every measure of every policy, the best marked, with the change from the first policy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.sim.report.blocks import Table, TableCell
from muster.sim.report.figures.contender import Contender
from muster.sim.report.figures.wording import (
    NOTHING,
    SPACE,
    change_text,
    count_text,
    duration_text,
    percent_text,
    ratio_text,
)
from muster.sim.report.sections.sweep import Sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One row: what is measured, where it is found, how it is written, and whether more is better."""

    title: str
    path: tuple[str, ...]
    """Its path in `measures`."""
    text: Callable[[float], str]
    more_is_better: bool = False
    is_compared: bool = True
    """False where neither a best value nor a difference is meaningful."""
    is_rare: bool = False
    """True: left out if it is zero everywhere."""

    def value(self, contender: Contender) -> float | None:
        """Its value for a policy; None if there is none."""
        return contender.figure(*self.path)

    def is_shown(self, contenders: Sequence[Contender]) -> bool:
        """True if a summary has it, even without a value; a rare measure needs a value other than zero."""
        return any((self.value(each) if self.is_rare else each.tells(*self.path)) for each in contenders)


MEASURES = (
    Measure(title="Jobs", path=("jobs",), text=count_text, is_compared=False),
    Measure(title="Jobs finished", path=("finished",), text=count_text, is_compared=False),
    Measure(
        title="… that ask for nothing", path=("without_resources",), text=count_text, is_compared=False, is_rare=True
    ),
    Measure(title="Jobs not finished", path=("unfinished",), text=count_text, is_compared=False),
    Measure(title="… stopped at the limit", path=("timed_out",), text=count_text, is_compared=False, is_rare=True),
    Measure(title="… failed for good", path=("failed",), text=count_text, is_compared=False, is_rare=True),
    Measure(title="Jobs cancelled", path=("cancelled",), text=count_text, is_compared=False, is_rare=True),
    Measure(title="Jobs rejected", path=("rejected",), text=count_text, is_compared=False, is_rare=True),
    Measure(
        title="Completion, mean",
        path=(
            "jct_s",
            "mean",
        ),
        text=duration_text,
    ),
    Measure(
        title="Completion, median",
        path=(
            "jct_s",
            "p50",
        ),
        text=duration_text,
    ),
    Measure(
        title="Completion, p99",
        path=(
            "jct_s",
            "p99",
        ),
        text=duration_text,
    ),
    Measure(
        title="First wait, mean",
        path=(
            "first_wait_s",
            "mean",
        ),
        text=duration_text,
    ),
    Measure(
        title="First wait, median",
        path=(
            "first_wait_s",
            "p50",
        ),
        text=duration_text,
    ),
    Measure(
        title="First wait, p99",
        path=(
            "first_wait_s",
            "p99",
        ),
        text=duration_text,
    ),
    Measure(title="Utilisation", path=("utilisation",), text=percent_text, more_is_better=True),
    Measure(title="Goodput", path=("goodput",), text=percent_text, more_is_better=True),
    Measure(
        title="Effective training time",
        path=("effective_training_time",),
        text=percent_text,
        more_is_better=True,
    ),
    Measure(title="Preemptions per job", path=("preemptions_per_job",), text=ratio_text),
    Measure(title="Lost GPU time", path=("lost_fraction",), text=percent_text),
    Measure(title="Fragmentation", path=("fragmentation",), text=percent_text),
    Measure(
        title="Worst ρ (fairness)",
        path=(
            "rho",
            "worst",
        ),
        text=ratio_text,
    ),
    Measure(
        title="Unfair jobs (ρ > 1)",
        path=(
            "rho",
            "unfair_fraction",
        ),
        text=percent_text,
    ),
    Measure(title="Makespan", path=("makespan_s",), text=duration_text),
)
NARROW = 3
"""The most policies that fit into half the width of the page."""
EXPLAINED = (
    "Utilisation: allocated over all GPU time while jobs were submitted. Goodput: useful over allocated GPU time. "
    "Effective training time: useful GPU time over that from a job's first start to its end, in which it may also wait "
    "for its next turn; where jobs give way to one another it is far below goodput although little work is lost. "
    "Fragmentation: share of free GPUs that a typical job could not use. ρ: time to finish over that with "
    "a fair share of the cluster."
)


def summary_table(contenders: Sequence[Contender], sweep: Sweep | None = None) -> Table:
    """The table; a narrow one leaves room beside it. In a sweep, replays with the same value are compared."""
    values = [0.0] * len(contenders) if sweep is None else sweep.values
    rows = [_row(each, contenders, values) for each in MEASURES if each.is_shown(contenders)]
    several = len(contenders) > 1
    return Table(
        title=_title(contenders, sweep),
        headings=("", *(each.label for each in contenders)),
        rows=rows,
        note=f"★ marks the best. {EXPLAINED}" if several else EXPLAINED,
        wide=len(contenders) > NARROW,
    )


def _title(contenders: Sequence[Contender], sweep: Sweep | None) -> str:
    first = contenders[0]
    if sweep is not None:
        return f"Measures of every replay, with the difference from {first.replay.policy} under the same conditions"
    several = len(contenders) > 1
    return f"Measures by policy, with the difference from {first.label}" if several else f"Measures of {first.label}"


def _row(measure: Measure, contenders: Sequence[Contender], groups: Sequence[float]) -> list[TableCell]:
    """One measure of all policies. Each is compared with the first of its group."""
    cells = [TableCell(text=measure.title)]
    figures = [measure.value(each) for each in contenders]
    for place, (group, figure) in enumerate(zip(groups, figures, strict=True)):
        rivals = [other for other, of in zip(figures, groups, strict=True) if of == group]
        known = [rival for rival in rivals if rival is not None]
        base = rivals[0] if measure.is_compared and groups.index(group) != place else None
        best = _best(known, measure) if measure.is_compared and len(known) > 1 else None
        cells.append(_cell(measure, figure, base=base, best=best))
    return cells


def _best(known: Sequence[float], measure: Measure) -> str | None:
    """The text of the best value, since values with the same text are equally good; None if all texts are equal."""
    if len({measure.text(value) for value in known}) == 1:
        return None
    return measure.text(max(known) if measure.more_is_better else min(known))


def _cell(measure: Measure, value: float | None, *, base: float | None, best: str | None) -> TableCell:
    if value is None:
        return TableCell(text=NOTHING)
    text = measure.text(value)
    # A change that has no text keeps its place, so that figures stay aligned.
    detail = "" if base is None else change_text(value, base) or SPACE
    return TableCell(text=text, detail=detail, best=text == best)
