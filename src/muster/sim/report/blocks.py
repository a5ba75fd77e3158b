"""What a report is made of, as plain values: sections of sentences, tables, charts, and panels to choose from.

All strings here are plain text. The names that users give to jobs and teams are escaped in one place, `page`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One figure as `charts.js` draws it: what it may have is what plotly.js calls so.

    Strings are plain text with line breaks; colours are names of the style sheet. Where `hovertext` is one text for all
    points of a trace, `{x:duration}` in it stands for a value of each in words.
    """

    key: str
    """The id of the chart in the page, the same in every report."""
    title: str
    note: str = ""
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height_px: int = 360
    wide: bool = False
    """True: takes a row of its own where two charts would fit side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One cell of a table."""

    text: str
    whole: str = ""
    """The full text, shown when the reader points at the cell. Used where `text` is only a part."""
    detail: str = ""
    """Shown smaller, below the text."""
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under headings. The first column names the row."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    words: int = 1
    """How many columns, from the left, hold words and not figures."""
    wide: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Independent statements. The first words of each are set in bold."""

    statements: Sequence[tuple[str, str]]
    """The subject and the text of each statement."""
    wide: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FactList:
    """Facts by name, and the command that repeats the report."""

    facts: Sequence[tuple[str, str]]
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One choice among several."""

    label: str
    blocks: Sequence["Chart | Table | Prose"]
    is_first: bool = False
    """True: the one that is open when the page is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """The same view of several policies. The reader sees one at a time; on paper all are shown."""

    key: str
    panels: Sequence[Panel]


Block = Chart | Table | Prose | FactList | Panels


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One heading and what belongs to it."""

    key: str
    title: str
    lead: str = ""
    blocks: Sequence[Block]
