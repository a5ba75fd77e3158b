"""The table at the top: every measure of every policy, the best marked, and how far each is from the first policy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from muster.sim.report.blocks import Cell, Table
from muster.sim.report.contender import Contender
from muster.sim.report.sweep import Sweep
from muster.sim.report.wording import NOTHING, SPACE, change_text, count_text, duration_text, percent_text, ratio_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One row: what is measured, where it is found, how it is said, and whether more of it is better."""

    title: str
    value: Callable[[Contender], float | None]
    text: Callable[[float], str]
    more_is_better: bool = False
    is_compared: bool = True
    """False where neither a best nor a difference says anything."""
    is_rare: bool = False
    """Left out where it is zero everywhere."""


def _at(*path: str) -> Callable[[Contender], float | None]:
    return lambda contender: contender.figure(*path)


MEASURES = (
    Measure(title="Jobs", value=_at("jobs"), text=count_text, is_compared=False),
    Measure(title="Jobs finished", value=_at("finished"), text=count_text, is_compared=False),
    Measure(title="Jobs not finished", value=_at("unfinished"), text=count_text, is_compared=False),
    Measure(title="Jobs cancelled", value=_at("cancelled"), text=count_text, is_compared=False, is_rare=True),
    Measure(title="Jobs rejected", value=_at("rejected"), text=count_text, is_compared=False, is_rare=True),
    Measure(title="Completion, mean", value=_at("jct_s", "mean"), text=duration_text),
    Measure(title="Completion, median", value=_at("jct_s", "p50"), text=duration_text),
    Measure(title="Completion, p99", value=_at("jct_s", "p99"), text=duration_text),
    Measure(title="First wait, mean", value=_at("first_wait_s", "mean"), text=duration_text),
    Measure(title="First wait, median", value=_at("first_wait_s", "p50"), text=duration_text),
    Measure(title="First wait, p99", value=_at("first_wait_s", "p99"), text=duration_text),
    Measure(title="Utilisation", value=_at("utilisation"), text=percent_text, more_is_better=True),
    Measure(title="Goodput", value=_at("goodput"), text=percent_text, more_is_better=True),
    Measure(
        title="Effective training time",
        value=_at("effective_training_time"),
        text=percent_text,
        more_is_better=True,
    ),
    Measure(title="Preemptions per job", value=_at("preemptions_per_job"), text=ratio_text),
    Measure(title="Lost GPU time", value=_at("lost_fraction"), text=percent_text),
    Measure(title="Fragmentation", value=_at("fragmentation"), text=percent_text),
    Measure(title="Worst ρ (fairness)", value=_at("rho", "worst"), text=ratio_text),
    Measure(title="Unfair jobs (ρ > 1)", value=_at("rho", "unfair_fraction"), text=percent_text),
    Measure(title="Makespan", value=_at("makespan_s"), text=duration_text),
)
NARROW = 3
"""So many policies fit into half the width of the page."""
EXPLAINED = (
    "Utilisation: allocated over all GPU time while jobs were submitted. Goodput: useful over allocated GPU time. "
    "Effective training time: useful GPU time over that from a job's first start to its end, in which it may also wait "
    "for its next turn; where jobs give way to one another it is far below goodput although little work is lost. "
    "Fragmentation: share of free GPUs that a typical job could not use. ρ: time to finish over that with "
    "a fair share of the cluster."
)


def summary_table(contenders: Sequence[Contender], sweep: Sweep | None = None) -> Table:
    """The table, beside other things as long as it is narrow. In a sweep, replays with the same value are compared."""
    values = [0.0] * len(contenders) if sweep is None else sweep.values
    shown = [each for each in MEASURES if not each.is_rare or any(map(each.value, contenders))]
    rows = [_row(each, contenders, values) for each in shown]
    several = len(contenders) > 1
    return Table(
        title=_title(contenders, sweep),
        headings=("", *(each.label for each in contenders)),
        rows=[row for row in rows if any(cell.text != NOTHING for cell in row[1:])],
        note=f"★ marks the best. {EXPLAINED}" if several else EXPLAINED,
        wide=len(contenders) > NARROW,
    )


def _title(contenders: Sequence[Contender], sweep: Sweep | None) -> str:
    first = contenders[0]
    if sweep is not None:
        return f"Measures of every replay, with the difference from {first.replay.policy} under the same conditions"
    several = len(contenders) > 1
    return f"Measures by policy, with the difference from {first.label}" if several else f"Measures of {first.label}"


def _row(measure: Measure, contenders: Sequence[Contender], groups: Sequence[float]) -> list[Cell]:
    """One measure of all; what is in the same group is compared with the first there."""
    cells = [Cell(text=measure.title)]
    figures = [measure.value(each) for each in contenders]
    for place, (group, figure) in enumerate(zip(groups, figures, strict=True)):
        rivals = [other for other, of in zip(figures, groups, strict=True) if of == group]
        known = [rival for rival in rivals if rival is not None]
        base = rivals[0] if measure.is_compared and groups.index(group) != place else None
        best = _best(known, measure) if measure.is_compared and len(known) > 1 else None
        cells.append(_cell(measure, figure, base=base, best=best))
    return cells


def _best(known: Sequence[float], measure: Measure) -> str | None:
    """How the best value reads, since what reads the same is as good; None when all do."""
    if len({measure.text(value) for value in known}) == 1:
        return None
    return measure.text(max(known) if measure.more_is_better else min(known))


def _cell(measure: Measure, value: float | None, *, base: float | None, best: str | None) -> Cell:
    if value is None:
        return Cell(text=NOTHING)
    text = measure.text(value)
    # What cannot be said keeps its place, so that figures stay below one another.
    detail = "" if base is None else change_text(value, base) or SPACE
    return Cell(text=text, detail=detail, best=text == best)
