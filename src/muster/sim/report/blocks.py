"""What a report is made of, as plain values: sections of sentences, tables, charts, and panels to choose from.

All strings here are plain text. Whatever a user named a job or a team is made harmless in one place, `page`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One figure of plotly.js. Strings in it are plain text with line breaks; colours are names of the style sheet."""

    key: str
    """Names the place of the chart in the page; the same in every report."""
    title: str
    note: str = ""
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height_px: int = 360
    wide: bool = False
    """Takes a row of its own where two charts would fit side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One cell of a table."""

    text: str
    whole: str = ""
    """What to show to whoever points at it, where `text` is only a part."""
    detail: str = ""
    """Said smaller, below."""
    best: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under headings; the first column names the row."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    words: int = 1
    """How many columns, from the left, hold words and not figures."""
    wide: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Statements, each standing for itself; the first words of one may be stressed."""

    statements: Sequence[tuple[str, str]]
    """What it is about, and what is to be said."""
    wide: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FactList:
    """What is so, by name, and the command that shows it again."""

    facts: Sequence[tuple[str, str]]
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One choice among several."""

    label: str
    blocks: Sequence["Chart | Table | Prose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """The same view of one policy after another, of which the reader sees one; on paper all."""

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
