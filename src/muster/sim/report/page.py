"""Blocks -> one HTML file. Everything that came from outside is escaped here and nowhere else.

Text is escaped where it enters the page. The charts are embedded as data that cannot close their script element; their
strings become text of the page and never markup.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any, assert_never

from muster.sim.report.blocks import Block, Chart, FactList, Panel, Panels, Prose, Section, Table, TableCell


def render(title: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """The whole page."""
    return Template(_asset("page.html")).substitute(
        title=escape(title),
        style=_asset("page.css"),
        facts=_named(facts),
        contents="".join(f'<a href="#{each.key}">{escape(each.title)}</a>' for each in sections),
        sections="\n".join(_section(each) for each in sections),
        charts=_data({chart.key: _figure(chart) for section in sections for chart in _charts(section.blocks)}),
        drawing=_asset("charts.js"),
        script=_asset("page.js"),
    )


def scripts() -> tuple[str, ...]:
    """The scripts of every page, as they are between their tags. No other script may run in one."""
    return tuple(f"\n{_asset(name)}\n" for name in ("charts.js", "page.js"))


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _section(section: Section) -> str:
    lead = f'<p class="lead">{escape(section.lead)}</p>' if section.lead else ""
    blocks = "\n".join(_block(each) for each in section.blocks)
    heading = f"<h2>{escape(section.title)}</h2>"
    return f'<section id="{section.key}">{heading}{lead}<div class="blocks">{blocks}</div></section>'


def _block(block: Block) -> str:
    match block:
        case Chart():
            return _chart(block)
        case Table():
            return _table(block)
        case Prose():
            return _prose(block)
        case FactList():
            return _facts(block)
        case Panels():
            return f'<div class="panels wide">{"".join(_panel(each) for each in block.panels)}</div>'
        case _:
            assert_never(block)


def _chart(chart: Chart) -> str:
    place = f'<div class="chart" id="chart-{chart.key}" style="min-height:{chart.height_px}px"></div>'
    caption = f"<figcaption>{escape(chart.title)}</figcaption>"
    return f'<figure class="{_width(chart)}">{caption}{place}{_note(chart.note)}</figure>'


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{_kind(place, table)}>{escape(each)}</th>' for place, each in enumerate(table.headings)
    )
    body = "".join(f"<tr>{_row(row, table)}</tr>" for row in table.rows)
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if table.rows else ""
    content = f'<figcaption>{escape(table.title)}</figcaption><div class="scroll">{grid}</div>{_note(table.note)}'
    return f'<figure class="{_width(table)}">{content}</figure>'


def _row(row: Sequence[TableCell], table: Table) -> str:
    first, *rest = row
    cells = "".join(_cell(cell, _kind(place, table)) for place, cell in enumerate(rest, start=1))
    return f'<th scope="row" class="word" title="{escape(first.whole or first.text)}">{escape(first.text)}</th>{cells}'


def _cell(cell: TableCell, kind: str) -> str:
    mark = '<span class="star" title="best">★</span> ' if cell.best else ""
    detail = f"<small>{escape(cell.detail)}</small>" if cell.detail else ""
    text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
    return f'<td{kind} title="{escape(cell.whole or cell.text)}">{mark}{text}{detail}</td>'


def _kind(place: int, table: Table) -> str:
    return ' class="word"' if place < table.words else ' class="figure"'


def _prose(prose: Prose) -> str:
    items = "".join(f"<li><b>{escape(about)}</b>: {escape(text)}</li>" for about, text in prose.statements)
    return f'<ul class="prose {_width(prose)}">{items}</ul>'


def _facts(block: FactList) -> str:
    words = " ".join(f"<span>{escape(word)}</span>" for word in block.command.split(" "))
    command = f"<figcaption>To repeat it</figcaption><pre>{words}</pre>"
    return (
        f'<figure class="wide"><dl class="about">{_named(block.facts)}</dl>{command if block.command else ""}</figure>'
    )


def _named(facts: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts)


def _panel(panel: Panel) -> str:
    blocks = "".join(_block(each) for each in panel.blocks)
    first = " data-first" if panel.is_first else ""
    return f'<div class="panel" data-label="{escape(panel.label)}"{first}><div class="blocks">{blocks}</div></div>'


def _width(block: Chart | Table | Prose) -> str:
    return "wide" if block.wide else "half"


def _note(note: str) -> str:
    return f'<p class="note">{escape(note)}</p>' if note else ""


def _charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    for block in blocks:
        match block:
            case Chart():
                yield block
            case Panels():
                for panel in block.panels:
                    yield from _charts(panel.blocks)
            case _:
                pass


def _figure(chart: Chart) -> dict[str, Any]:
    return {"data": chart.data, "layout": chart.layout}


def _data(figures: Mapping[str, Any]) -> str:
    # Inside a script element only "<" can begin the end tag or a comment.
    return json.dumps(figures, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
