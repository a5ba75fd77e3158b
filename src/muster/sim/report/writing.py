"""The report as a whole: which sections it has, and the file they are written to."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from muster.model.ids import TeamPath
from muster.model.resources import GPU_MILLI
from muster.model.team import Team
from muster.sim.fairness import rhos
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.report.blocks import Prose, Section
from muster.sim.report.comparison import comparison, pairs
from muster.sim.report.contender import MS_PER_S, Contender, labels, slots
from muster.sim.report.distributions import distributions
from muster.sim.report.fairness import fairness
from muster.sim.report.gantt import gantt
from muster.sim.report.groups import groups
from muster.sim.report.page import render
from muster.sim.report.pairs import Pair
from muster.sim.report.sentences import against, alone
from muster.sim.report.summary import summary_table
from muster.sim.report.timelines import timelines
from muster.sim.report.wording import count_text, duration_text


def write_report(
    replays: Sequence[Replay],
    path: Path,
    *,
    title: str = "Trace replay",
    summaries: Sequence[Mapping[str, Any]] = (),
    teams: Sequence[Team] = (),
) -> None:
    """Write one HTML file about replays of one trace, each compared with the first.

    `summaries` are the `measures` of the replays, in their order, for callers that have them already. With `teams`,
    fairness counts by their weights, and what each team got is held against its weight.
    """
    if not replays:
        raise ValueError("a report needs at least one replay")
    weights = {team.path: team.weight for team in teams}
    known = summaries or [measures(each, teams) if each.outcomes else {} for each in replays]
    contenders = _contenders(replays, known, weights)
    sections = _sections(contenders, pairs(contenders), weights)
    _put(path, render(title, facts(contenders), sections))


def _put(path: Path, text: str) -> None:
    """Put the file in its place as a whole or not at all; behind a link, where the link leads."""
    place = path.resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def facts(contenders: Sequence[Contender]) -> list[tuple[str, str]]:
    """What the report is about, for its header."""
    first = contenders[0]
    submits_ms = [each.job.submit_ms for each in first.outcomes]
    span_s = (max(submits_ms) - min(submits_ms)) / MS_PER_S if submits_ms else 0
    sizes = dict.fromkeys(count_text(each.replay.capacity_milli // GPU_MILLI) for each in contenders)
    return [
        ("Trace", first.replay.trace),
        ("Cluster", f"{' / '.join(sizes)} GPUs"),
        ("Jobs", count_text(len(first.outcomes))),
        ("Teams", count_text(len({each.job.team for each in first.outcomes}))),
        ("Submitted over", duration_text(span_s)),
        ("Policies", ", ".join(each.label for each in contenders)),
    ]


def _contenders(
    replays: Sequence[Replay], summaries: Sequence[Mapping[str, Any]], weights: Mapping[TeamPath, int]
) -> list[Contender]:
    places = slots([each.policy for each in replays])
    names = labels(replays)
    return [
        Contender(
            replay=replay,
            label=names[place],
            slot=places[place],
            summary=summary,
            rhos=sorted(rhos(replay.outcomes, replay.capacity_milli, weights or None)),
        )
        for place, (replay, summary) in enumerate(zip(replays, summaries, strict=True))
    ]


def _sections(
    contenders: Sequence[Contender], compared: Sequence[Pair], weights: Mapping[TeamPath, int]
) -> list[Section]:
    sections = [
        _in_short(contenders, compared),
        distributions(contenders),
        timelines(contenders),
        groups(contenders, {str(team): weight for team, weight in weights.items()}),
        fairness(contenders, by_teams=bool(weights)),
        gantt(contenders),
    ]
    return [*sections, comparison(compared)] if compared else sections


def _in_short(contenders: Sequence[Contender], compared: Sequence[Pair]) -> Section:
    first = contenders[0]
    statements = [(first.label, alone(first)), *((each.other.label, against(each)) for each in compared)]
    table = summary_table(contenders)
    return Section(key="in-short", title="In short", blocks=(Prose(statements=statements, wide=table.wide), table))
