"""Waiting times and GPU time by tier and by team."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from muster.model.policy import DEFAULT_TIERS
from muster.sim.outcome import JobOutcome
from muster.sim.report.blocks import Block, Chart, Section
from muster.sim.report.charts.axes import layout, percent_axis, row_axis
from muster.sim.report.charts.percentile_bars import Groups, range_chart, row_offset
from muster.sim.report.figures.contender import Contender, waits_s
from muster.sim.report.figures.wording import list_text, percent_text

TEAMS_SHOWN = 12
"""Teams with a row of their own. The smaller ones share one row."""
UNNAMED_WEIGHT = 1000
"""The weight of a team that was not declared, as for fairness."""
_UNIT = "Submission to first start (log scale)"
_RANK = {str(tier.name): place for place, tier in enumerate(DEFAULT_TIERS)}

Named = Callable[[JobOutcome], str]


def groups(contenders: Sequence[Contender], weights: Mapping[str, int], *, made_up: str = "") -> Section:
    """The section on tiers and teams. With `weights`, what teams got is compared with what they are due.

    `made_up` is a sentence that says which of it is made up.
    """
    named = team_names((each for contender in contenders for each in contender.outcomes), most=TEAMS_SHOWN)
    tiers = _tiers(contenders)
    blocks: list[Block] = [_tier_chart(contenders, tiers)] if len(tiers) > 1 else []
    if len(named) > 1:
        waits = _team_wait_chart(contenders, named, wide=bool(blocks))
        blocks += (_share_chart(contenders, named, weights), waits)
    lead = " ".join(each for each in (made_up, _lead(tiers, named)) if each)
    return Section(key="groups", title="By tier and team", lead=lead, blocks=blocks)


def _lead(tiers: Sequence[str], named: Mapping[str, str]) -> str:
    """Why a chart is missing, if one is."""
    only = [f"{what} {names[0]}" for what, names in (("tier", tiers), ("team", list(named))) if len(names) == 1]
    return f"All jobs are of the {list_text(only)}, so there is nothing to compare by that." if only else ""


def team_names(outcomes: Iterable[JobOutcome], *, most: int) -> dict[str, str]:
    """The label of each team in a chart. The teams that ask for most GPU time keep their names; the rest share one."""
    asked: Counter[str] = Counter()
    for each in outcomes:
        asked[str(each.job.team)] += each.job.gpu_milli * each.job.run_ms
    ranked = sorted(asked, key=lambda team: (-asked[team], team))
    rest = ranked[most:] if len(ranked) > most + 1 else []
    return {team: f"{len(rest)} other teams" if team in rest else team for team in ranked}


def _tiers(contenders: Sequence[Contender]) -> list[str]:
    met = {str(each.job.tier) for contender in contenders for each in contender.outcomes}
    return sorted(met, key=lambda name: (_RANK.get(name, len(_RANK)), name))


def _tier_chart(contenders: Sequence[Contender], tiers: Sequence[str]) -> Chart:
    return range_chart(
        _by_group(contenders, tiers, lambda each: str(each.job.tier)),
        contenders,
        key="wait-by-tier",
        title="First wait by tier, most urgent first",
        unit=_UNIT,
    )


def _team_wait_chart(contenders: Sequence[Contender], named: Mapping[str, str], *, wide: bool) -> Chart:
    return range_chart(
        _by_group(contenders, list(dict.fromkeys(named.values())), lambda each: named[str(each.job.team)]),
        contenders,
        key="wait-by-team",
        title="First wait by team, largest by GPU time first",
        unit=_UNIT,
        wide=wide,
    )


def _by_group(contenders: Sequence[Contender], names: Sequence[str], name_of: Named) -> Groups:
    found: dict[str, list[list[JobOutcome]]] = {name: [[] for _ in contenders] for name in names}
    for place, contender in enumerate(contenders):
        for each in contender.outcomes:
            found[name_of(each)][place].append(each)
    return {name: [waits_s(each) for each in outcomes] for name, outcomes in found.items()}


def _share_chart(contenders: Sequence[Contender], named: Mapping[str, str], weights: Mapping[str, int]) -> Chart:
    rows = list(dict.fromkeys(named.values()))
    asked = _asked_shares(contenders[0].outcomes, named)
    data = [_marks("asked for", rows, asked, {"color": "var(--muted)", "symbol": "line-ns-open", "size": 20})]
    if weights:
        due = _weight_shares(weights, named)
        data.append(_marks("weight", rows, due, {"color": "var(--text)", "symbol": "diamond-open", "size": 13}))
    for place, each in enumerate(contenders):
        mark = {"color": each.colour, "size": 9, "symbol": each.symbol}
        offset = row_offset(place, len(contenders))
        data.append(_marks(each.label, rows, _held_shares(each, named), mark, offset))
    against = "and its weight" if weights else "and what it asked for"
    return Chart(
        key="share-by-team",
        title=f"Share of GPU time each team got, {against}",
        note="Counted until the last submission: in the end every team gets what it asked for.",
        data=data,
        layout=layout(
            xaxis=percent_axis("Share of allocated GPU time", rangemode="tozero"),
            yaxis=row_axis(rows),
        ),
        height_px=max(320, 130 + 32 * len(rows)),
    )


def _marks(
    name: str, rows: Sequence[str], shares: Mapping[str, float], marker: Mapping[str, Any], offset: float = 0
) -> dict[str, Any]:
    outline = 2 if str(marker["symbol"]).endswith("-open") else 0
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [round(shares.get(row, 0), 5) for row in rows],
        "y": [place + offset for place in range(len(rows))],
        "marker": dict(marker) | {"line": {"width": outline}},
        "hovertext": [f"{row}: {percent_text(shares.get(row, 0))} {name}" for row in rows],
    }


def _asked_shares(outcomes: Iterable[JobOutcome], named: Mapping[str, str]) -> dict[str, float]:
    asked: Counter[str] = Counter()
    for each in outcomes:
        asked[named[str(each.job.team)]] += each.job.gpu_milli * each.job.run_ms
    return _shares(asked)


def _held_shares(contender: Contender, named: Mapping[str, str]) -> dict[str, float]:
    last_ms = max((each.job.submit_ms for each in contender.outcomes), default=0)
    held: Counter[str] = Counter()
    for each in contender.outcomes:
        within = sum(max(0, min(last_ms, stint.end_ms) - stint.start_ms) * stint.gpu_milli for stint in each.stints)
        held[named[str(each.job.team)]] += within
    return _shares(held)


def _weight_shares(weights: Mapping[str, int], named: Mapping[str, str]) -> dict[str, float]:
    due: dict[str, float] = {}
    for team, name in named.items():
        due[name] = due.get(name, 0) + weights.get(team, UNNAMED_WEIGHT)
    return _shares(due)


def _shares(amounts: Mapping[str, float]) -> dict[str, float]:
    total = sum(amounts.values())
    return {name: amount / total if total else 0.0 for name, amount in amounts.items()}
