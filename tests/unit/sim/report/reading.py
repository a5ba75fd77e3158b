"""Reads a report back as a browser would: its elements, its text, and the figures that are embedded in it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


@dataclass
class Page:
    """What is in the file."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Without scripts and styles."""
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return " ".join(self.texts).replace("\u00a0", " ")

    def attributes(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.tags if name in attributes]

    def count(self, tag: str) -> int:
        return sum(each == tag for each, _ in self.tags)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._inside: tuple[str, str] = ("", "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.page.tags.append((tag, attributes))
        self._inside = (tag, attributes.get("id", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside[0]:
            self._inside = ("", "")

    def handle_data(self, data: str) -> None:
        match self._inside:
            case ("script", "charts"):
                self.page.charts = json.loads(data)
            case ("script" | "style", _):
                pass
            case _:
                self.page.texts.append(data)


def read_page(path: Path) -> Page:
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    reader.close()
    return reader.page


def strings(value: Any) -> Iterator[str]:
    """Every string inside a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def points(chart: dict[str, Any]) -> int:
    """How many points the longest trace of a figure has."""
    return max((len(each.get("x", ())) for each in chart["data"]), default=0)
