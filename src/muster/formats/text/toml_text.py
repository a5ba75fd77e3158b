"""TOML text -> plain values like those of YAML and JSON, and within the same bounds.

Dates and times become text, as in YAML. Code that expects a time reads that text. Other code can show it.
"""

import math
import re
import tomllib
from datetime import date, datetime, time

from muster.formats.text.yaml_text import DEPTH_MAX, INTEGER_DIGITS_MAX, BadText, Loc, path_text


def read_toml(text: str) -> object:
    """The document in the text as plain values. An empty text is an empty mapping."""
    try:
        return _plain(tomllib.loads(text), ())
    except tomllib.TOMLDecodeError as error:
        raise BadText(f"not TOML: {error}") from None
    except RecursionError:
        raise BadText("nested too deeply") from None
    except BadText:
        raise
    except ValueError:  # Python refuses to read numbers with thousands of digits.
        raise BadText("it has a number that is too large") from None


def _plain(value: object, at: Loc) -> object:
    """The value, and everything in it, as JSON could say it."""
    if len(at) > DEPTH_MAX:
        raise BadText("nested too deeply")
    match value:
        case dict():
            return {key: _plain(each, (*at, key)) for key, each in value.items()}
        case list():
            return [_plain(each, (*at, place)) for place, each in enumerate(value)]
        case datetime() | date() | time():
            return value.isoformat().replace("+00:00", "Z")
        case float() if not math.isfinite(value):
            raise BadText(f"{path_text(at)}: {value} is not a number that means anything here")
        case int() if abs(value) >= 10**INTEGER_DIGITS_MAX:
            raise BadText(f"{path_text(at)}: the number is too large")
        case _:
            return value


_TABLE = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_KEYED = re.compile(r"\s*([^=#\[\s][^=#]*?)\s*=")
_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(?:\.|$)""")
_LONG = re.compile(r"""\"\"\"|'''""")


def lines_of_toml(text: str) -> dict[Loc, int]:
    """The lines of the tables and keys of a document that can be read. What is inside a value is not looked for.

    A place that is missed only means that an error names the line of what surrounds it.
    """
    lines: dict[Loc, int] = {(): 1}
    table: Loc = ()
    entries: dict[Loc, int] = {}
    until = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if until:
            until = "" if until in line else until
            continue
        header, keyed = _TABLE.match(line), _KEYED.match(line)
        if header is not None:
            table = _table(header[2], entries, is_entry=header[1] == "[[")
            lines.setdefault(table, number)
        elif keyed is not None:
            lines.setdefault((*table, *_parts(keyed[1])), number)
        opened = _LONG.findall(line)
        until = opened[-1] if len(opened) % 2 else ""
    return lines


def _table(header: str, entries: dict[Loc, int], *, is_entry: bool) -> Loc:
    """The place of a table: below a list of tables it is in the last entry of the list."""
    place: Loc = ()
    parts = _parts(header)
    for depth, part in enumerate(parts):
        place = (*place, part)
        if is_entry and depth == len(parts) - 1:
            entries[place] = entries.get(place, -1) + 1
        if place in entries:
            place = (*place, entries[place])
    return place


def _parts(key: str) -> tuple[str, ...]:
    return tuple(next(part for part in found if part) for found in _PART.findall(key) if any(found))
