r"""Text for people: foreign text that is safe for a terminal, and times that are worked out without a clock.

Foreign text is shown, never executed.

A terminal takes control characters for commands: one clears the screen, one renames the window, one types an answer as
if the user had typed it. Characters that change the reading direction, and half characters (surrogates), make a line
look like something else. All of these are escaped, as `\x1b` or `\u202e`.
"""

import re

_HARMFUL = (
    "\\x00-\\x08\\x0b-\\x1f"  # C0 without tabs and line breaks
    "\\x7f-\\x9f"  # DEL and C1
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # reading direction
    "\\u2028\\u2029"  # other line breaks
    "\\ud800-\\udfff"  # half characters (surrogates)
)
_IN_LINES = re.compile(f"[{_HARMFUL}]")
_DAY_MS = 86_400_000
_IN_ONE_LINE = re.compile(f"[\\t\\n{_HARMFUL}]")


def printable(text: str) -> str:
    """The text with everything escaped that a terminal would obey. Tabs and line breaks stay."""
    return text if text.isprintable() else _IN_LINES.sub(_written_out, text)


def one_line(text: str) -> str:
    """The same for text inside a line: tabs and line breaks are escaped too, so that it cannot begin a new line."""
    return text if text.isprintable() else _IN_ONE_LINE.sub(_written_out, text)


def as_json(document: str) -> str:
    """The same for a JSON document. It stays valid with the same content: such characters occur only in its strings."""
    return document if document.isprintable() else _IN_LINES.sub(lambda each: f"\\u{ord(each[0]):04x}", document)


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    match found[0]:
        case "\t":
            return "\\t"
        case "\n":
            return "\\n"
        case _:
            return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def moment_text(moment_ms: int) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC, to the second."""
    days, rest_ms = divmod(moment_ms, _DAY_MS)
    year, month, day = _date(days)
    minutes, second = divmod(rest_ms // 1000, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}Z"


def span_text(span_ms: int) -> str:
    """A length of time in its two largest units, rounded up: `2 d 3 h`, `5 min`, `40 s`."""
    seconds = -(-max(span_ms, 0) // 1000)
    if seconds < 60:
        return f"{seconds} s"
    minutes = -(-seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours + (1 if minutes else 0), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def _date(days: int) -> tuple[int, int, int]:
    """The year, month and day that is so many days after the first of January 1970.

    Years are counted from March, so that the day of a leap year is the last of its year. An era is 400 years.
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    return era * 400 + year + (1 if month >= 10 else 0), month + 3 if month < 10 else month - 9, day
