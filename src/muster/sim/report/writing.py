"""The report as a whole: which sections it has, and the file they are written to."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from muster.model.ids import TeamPath
from muster.model.resources import GPU_MILLI
from muster.model.team import Team
from muster.sim.fairness import rhos
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.report.blocks import Prose, Section
from muster.sim.report.figures.advice import advice
from muster.sim.report.figures.contender import MS_PER_S, Contender, distinct, labels, slots
from muster.sim.report.figures.pairs import Pair
from muster.sim.report.figures.sentences import against, alone
from muster.sim.report.figures.wording import count_text, duration_text
from muster.sim.report.page import render
from muster.sim.report.sections.about import About, about_section, hashes_section
from muster.sim.report.sections.comparison import comparison, pairs
from muster.sim.report.sections.distributions import distributions
from muster.sim.report.sections.fairness import fairness
from muster.sim.report.sections.gantt import gantt
from muster.sim.report.sections.groups import groups
from muster.sim.report.sections.overload import overload
from muster.sim.report.sections.summary import summary_table
from muster.sim.report.sections.sweep import Sweep, sweep_section
from muster.sim.report.sections.timelines import timelines


def write_report(
    replays: Sequence[Replay],
    path: Path,
    *,
    title: str = "Trace replay",
    summaries: Sequence[Mapping[str, Any]] = (),
    teams: Sequence[Team] = (),
    sweep: Sweep | None = None,
    about: About | None = None,
) -> None:
    """Write one HTML file about replays of one trace, each compared with the first.

    `summaries` are the `measures` of the replays, in their order, for callers that have them already. With `teams`,
    fairness uses their weights, and what each team got is compared with its weight. `sweep` says what differs between
    replays besides the policy. Then the sweep has curves of its own, and all other sections compare the policies at one
    of its values. `about` says what cannot be seen from the replays.
    """
    if not replays:
        raise ValueError("a report needs at least one replay")
    weights = {team.path: team.weight for team in teams}
    known = summaries or [measures(each, teams) if each.outcomes else {} for each in replays]
    every = _contenders(replays, known, weights, sweep)
    contenders = every if sweep is None else at_one_value(every, sweep)
    compared = pairs(contenders)
    sections = [_in_short(contenders, compared, every, sweep)]
    if about is not None:
        sections.append(about_section(about))
    if sweep is not None:
        sections.append(sweep_section([replace(each, label=each.replay.policy) for each in every], sweep))
    details = _details(contenders, compared, weights, "" if about is None else about.made_up)
    sections += details if sweep is None else [_said_at(each, sweep) for each in details]
    hashes = hashes_section(every)
    sections += [] if hashes is None else [hashes]
    _put(path, render(title, facts(contenders, sweep), sections))


def _put(path: Path, text: str) -> None:
    """Write the file as a whole or not at all. If the path is a link, its target is replaced."""
    place = path.resolve()
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        # File names may contain bytes that are not valid text. They appear only as names, so they may be escaped.
        draft.write_text(text, "utf-8", errors="backslashreplace")
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def at_one_value(every: Sequence[Contender], sweep: Sweep) -> list[Contender]:
    """The replays at the chosen value, labelled with their policies."""
    chosen = [each for each, value in zip(every, sweep.values, strict=True) if value == sweep.chosen]
    names = distinct([each.replay.policy for each in chosen])
    return [replace(each, label=name) for each, name in zip(chosen, names, strict=True)]


def _said_at(section: Section, sweep: Sweep) -> Section:
    value = sweep.text(sweep.chosen)
    return replace(section, lead=f"With {value}. {section.lead}".strip())


def facts(contenders: Sequence[Contender], sweep: Sweep | None = None) -> list[tuple[str, str]]:
    """What the report is about, for its header."""
    first = contenders[0]
    submits_ms = [each.job.submit_ms for each in first.outcomes]
    span_s = (max(submits_ms) - min(submits_ms)) / MS_PER_S if submits_ms else 0
    sizes = dict.fromkeys(count_text(each.replay.capacity_milli // GPU_MILLI) for each in contenders)
    varied = [] if sweep is None else [("Tried", sweep.range_text)]
    return [
        ("Trace", first.replay.trace),
        *(varied or [("Cluster", f"{' / '.join(sizes)} GPUs")]),
        ("Jobs", count_text(len(first.outcomes) + first.replay.without_resources)),
        ("Teams", count_text(len({each.job.team for each in first.outcomes}))),
        ("Submitted over", duration_text(span_s)),
        ("Policies", ", ".join(each.label for each in contenders)),
    ]


def _contenders(
    replays: Sequence[Replay],
    summaries: Sequence[Mapping[str, Any]],
    weights: Mapping[TeamPath, int],
    sweep: Sweep | None,
) -> list[Contender]:
    policies = [each.policy for each in replays]
    if sweep is None:
        places, names = slots(policies), labels(replays)
    else:
        # Each policy has one colour, whatever else differs.
        once = list(dict.fromkeys(policies))
        slot_of = dict(zip(once, slots(once), strict=True))
        places = [slot_of[policy] for policy in policies]
        valued = zip(policies, sweep.values, strict=True)
        names = distinct([f"{policy}, {sweep.text(value)}" for policy, value in valued])
    return [
        Contender(
            replay=replay,
            label=names[place],
            slot=places[place],
            summary=summary,
            rhos=sorted(rhos(replay, weights or None)),
        )
        for place, (replay, summary) in enumerate(zip(replays, summaries, strict=True))
    ]


def _details(
    contenders: Sequence[Contender], compared: Sequence[Pair], weights: Mapping[TeamPath, int], made_up: str
) -> list[Section]:
    overloaded = overload(contenders)
    sections = [
        *([] if overloaded is None else [overloaded]),
        distributions(contenders),
        timelines(contenders),
        groups(contenders, {str(team): weight for team, weight in weights.items()}, made_up=made_up),
        fairness(contenders, by_teams=bool(weights)),
        gantt(contenders),
    ]
    return [*sections, comparison(compared)] if compared else sections


def _in_short(
    contenders: Sequence[Contender], compared: Sequence[Pair], every: Sequence[Contender], sweep: Sweep | None
) -> Section:
    first = contenders[0]
    statements = [
        ("Advice", advice(contenders)),
        (first.label, alone(first)),
        *((each.other.label, against(each)) for each in compared),
    ]
    table = summary_table(every, sweep)
    return Section(
        key="in-short",
        title="In short",
        lead="" if sweep is None else f"Policies with {sweep.reason}; the table has all replays.",
        blocks=(Prose(statements=statements, wide=table.wide), table),
    )
