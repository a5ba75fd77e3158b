"""What was simulated: all that is needed to judge the figures, to get them again, and to see that they are the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.sim.report.blocks import FactList, Section, Table, TableCell
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


def about_section(about: About) -> Section:
    """The section on what was simulated."""
    facts = FactList(facts=about.facts, command=about.command)
    return Section(key="about", title="What was simulated", lead=about.made_up, blocks=(facts,))


def hashes_section(contenders: Sequence[Contender]) -> Section | None:
    """The section with the hash of each replay; None if no replay has one."""
    hashed = [each for each in contenders if each.replay.log_hash]
    if not hashed:
        return None
    table = Table(
        title="Hash of the log of each replay",
        headings=("", "log_hash"),
        rows=[[TableCell(text=each.label), TableCell(text=each.replay.log_hash)] for each in hashed],
        words=2,
        note="The same inputs give the same hash on every machine.",
    )
    return Section(key="hashes", title="To compare with another run", blocks=(table,))
