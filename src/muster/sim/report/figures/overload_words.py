"""Lasting overload in words: what the load was, from when to when, which jobs wait, and what would fix it.

Everything is said from the figures of `muster simulate -o json`, so the terminal and the report say the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.model.ids import DEFAULT_POOL
from muster.sim.report.figures.wording import (
    DAY_S,
    SPACE,
    count_text,
    decimal_text,
    duration_text,
    gpus_text,
    list_text,
    percent_text,
    ratio_text,
)

Figures = Mapping[str, Any]

TITLE = "Lasting overload"
GROUPS_NAMED = 3
"""Teams that a sentence names. The table has more."""
STRETCHES_NAMED = 3


def overload_statements(overload: Figures, waits_by_policy: Sequence[tuple[str, Figures]]) -> list[tuple[str, str]]:
    """Independent statements, each with its subject: about every overloaded part, then about who waits under whom."""
    statements: list[tuple[str, str]] = []
    for part in overload["parts"]:
        where = _where(part)
        statements += [
            (f"Load on {where}", load_text(part)),
            ("From when to when", _when_text(part)),
            ("What would fix it", remedy_text(part)),
        ]
    waiting = [(f"Who waits under {label}", waits_text(waits)) for label, waits in waits_by_policy]
    # Who waits stands before what to do about the worst part, where a reader looks for it.
    return [*statements[:2], *waiting, *statements[2:]]


def load_text(part: Figures) -> str:
    """Demand over capacity, over the whole trace and in the worst stretch."""
    worst = part["worst"]
    asked = f"the {count_text(part['jobs'], 'job')} of the trace" if part["team"] is None else "its jobs"
    over_all = "" if part["load"] is None else f"{ratio_text(part['load'])} over the whole trace, and "
    stretch = f"{ratio_text(worst['load'])} from {day_text(worst['from_s'])} to {day_text(worst['until_s'])}"
    return f"{over_all}{stretch}. That is what {asked} ask for over {gpus_text(part['gpus'])}."


def _when_text(part: Figures) -> str:
    worst = part["worst"]
    text = (
        f"demand exceeded capacity from {day_text(worst['from_s'])} to {day_text(worst['until_s'])}. By then there was "
        f"work for {duration_text(worst['behind_s'])} more. No policy could have done all of it before "
        f"{day_text(worst['cleared_s'])}; a policy only chooses which jobs wait."
    )
    others = [each for each in part["stretches"] if each != worst]
    named = sorted(others, key=lambda each: -each["behind_s"])[:STRETCHES_NAMED]
    if not named:
        return text
    days = [f"{day_text(each['from_s'])} to {day_text(each['until_s'])}" for each in named]
    rest = [f"{count_text(len(others) - len(named))} more"] if len(others) > len(named) else []
    return f"{text} Less so: {list_text([*days, *rest])}."


def waits_text(waits: Figures) -> str:
    """How many jobs wait long under a policy, and of which tiers and teams they are."""
    jobs, long, beyond, slowed = (waits[name] for name in ("jobs", "long", "beyond_fifo", "slowed"))
    limit = f"24{SPACE}h"
    if not long and not slowed:
        return f"no job waits more than {limit} in all."
    text = (
        f"{count_text(long)} of {count_text(jobs, 'job')} ({percent_text(long / jobs)}) wait more than {limit} in all, "
        f"{count_text(beyond)} of them more than {limit} longer than the backlog alone would make them wait in the "
        f"order of submission. {count_text(slowed)} take more than {waits['slowdown_above']} times as long as they run."
    )
    by = (_most(waits["by_tier"], "tier"), _most(waits["by_team"], "team"))
    return " ".join(part for part in (text, *by) if part)


def _most(groups: Mapping[str, Figures], what: str) -> str:
    """Which groups have the most jobs that wait long; nothing if there is only one group or none waits."""
    ranked = sorted((name for name in groups if groups[name]["long"]), key=lambda name: (-groups[name]["long"], name))
    if len(groups) < 2 or not ranked:
        return ""
    named = [
        f"{name} ({count_text(groups[name]['long'])} of {count_text(groups[name]['jobs'])})"
        for name in ranked[:GROUPS_NAMED]
    ]
    more = [f"{count_text(len(ranked) - GROUPS_NAMED)} more"] if len(ranked) > GROUPS_NAMED else []
    return f"By {what}: {list_text([*named, *more])}."


def remedy_text(part: Figures) -> str:
    """What brings the load down: more nodes, or a higher limit where quota binds and not capacity."""
    said = [text for over in ("trace", "stretch") if (text := _remedies(part, over))]
    said += [f"{_amount(each)} so that no overload lasts" for each in part["remedies"] if each["over"] == "all"]
    if part["team"] is not None:
        text = f"its limit of {gpus_text(part['gpus'])} binds, not the cluster. Raised by " + "; ".join(said) + "."
    else:
        node = part["node"]
        kind = f"{node['gpus']} {node['gpu_type']}".strip()
        pool = "" if node["pool"] == DEFAULT_POOL else f" in pool {node['pool']}"
        text = f"more nodes with {kind} GPUs{pool}: " + "; ".join(said) + "."
    return text


def _remedies(part: Figures, over: str) -> str:
    """The remedies over the whole trace or over the worst stretch."""
    worst = part["worst"]
    names = {"trace": "over the whole trace", "stretch": f"in the stretch until {day_text(worst['until_s'])}"}
    found = [each for each in part["remedies"] if each["over"] == over and each["more_gpus"]]
    if not found:
        return ""
    bring = [f"{_amount(each)} for a load of {decimal_2(each['load'])}" for each in found]
    return f"{list_text(bring)} {names[over]}"


def _amount(remedy: Figures) -> str:
    return gpus_text(remedy["more_gpus"]) if remedy["more_nodes"] is None else count_text(remedy["more_nodes"])


def decimal_2(value: float) -> str:
    """A target: 1 or 0.95."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _where(part: Figures) -> str:
    """The quota or the part of the cluster."""
    if part["team"] is not None:
        return f"the quota of team {part['team']}"
    if part["is_whole"]:
        return "the cluster"
    types = [each for each in part["gpu_types"] if each]
    pools = "" if part["pools"] == [DEFAULT_POOL] else f" in pool {list_text(part['pools'])}"
    return f"{list_text(types) or 'the'} GPUs{pools}"


def day_text(seconds: float) -> str:
    """A moment of the trace."""
    return f"day{SPACE}{decimal_text(seconds / DAY_S)}"
