"""What was simulated: everything needed to judge the figures, and to get the same figures again."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.sim.report.blocks import Block, FactList, Section, Table, TableCell
from muster.sim.report.figures.contender import Contender


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the caller knows and the replays do not contain."""

    facts: Sequence[tuple[str, str]]
    """Names and texts."""
    command: str = ""
    """The command that repeats the replays and the report."""
    made_up: str = ""
    """A sentence that says what is made up; empty if everything comes from the trace."""


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
