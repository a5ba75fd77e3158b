"""One event as one line: when, what, about which job, and what else it says."""

from datetime import datetime
from typing import Any

from rich.text import Text

from muster.cli.wording import amount, clock
from muster.client.answers import Event
from muster.formats.ranges import node_ranges

_STYLES = {
    "submitted": "yellow",
    "started": "green",
    "exited": "blue",
    "failed": "red",
    "lost": "red",
    "cancel": "magenta",
    "eviction": "magenta",
}
_TOLD_ELSEWHERE = frozenset(
    {"version", "at", "at_ms", "kind", "job", "team", "user", "spec", "generation", "max_duration_ms", "stop_grace_ms"}
)
"""Fields that are shown in columns of their own, or that say nothing to people."""
VALUE_CHARS = 60


def event_line(event: Event, present: datetime) -> Text:
    """`14:02:11   1042  JobStarted  job-7  attempt 1, on n[1-2]`."""
    text = Text.assemble((f"{clock(event.at, present)}  ", "dim"), (f"{event.version:>6}  ", "dim"))
    text.append(f"{event.kind:<18}", style=_style(event.kind))
    text.append(f"  {event.job or '':<10}", style="bold")
    return text.append(f"  {_details(event.document)}")


def _style(kind: str) -> str:
    return next((style for word, style in _STYLES.items() if word in kind.lower()), "")


def _details(document: dict[str, Any]) -> str:
    told = {key: value for key, value in document.items() if key not in _TOLD_ELSEWHERE}
    parts = [
        f"{key.replace('_', ' ')} {_value(value)}" for key, value in told.items() if value not in (None, "", [], {})
    ]
    return ", ".join(parts)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return amount(value)
        case [{"node": _}, *_]:
            return node_ranges(str(each.get("node")) for each in value if isinstance(each, dict))
        case list():
            return _short(" ".join(map(str, value)))
        case dict():
            return _short(" ".join(f"{key}={each}" for key, each in value.items() if each not in (None, "", [])))
        case _:
            return _short(str(value))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= VALUE_CHARS else f"{line[: VALUE_CHARS - 1]}…"
