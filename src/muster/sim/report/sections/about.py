"""What was simulated: everything that is needed to judge the figures, and to get the same ones again."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.sim.report.blocks import Block, FactList, Section, Table, TableCell
from muster.sim.report.figures.contender import Contender


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the caller knows and the replays do not tell."""

    facts: Sequence[tuple[str, str]]
    """What it is about, and how that was."""
    command: str = ""
    """Repeats the replays and the report."""
    made_up: str = ""
    """What nobody ever observed, as a sentence; empty where everything comes from the trace."""


def about_section(about: About, contenders: Sequence[Contender]) -> Section:
    """The section, with the hash of each replay."""
    blocks: list[Block] = [FactList(facts=about.facts, command=about.command)]
    hashes = [
        [TableCell(text=each.label), TableCell(text=each.replay.log_hash)]
        for each in contenders
        if each.replay.log_hash
    ]
    if hashes:
        blocks.append(
            Table(
                title="Hash of the log of each replay",
                headings=("", "log_hash"),
                rows=hashes,
                note="The same inputs give the same hash on every machine.",
            )
        )
    return Section(key="about", title="What was simulated", lead=about.made_up, blocks=blocks)
