r"""Makes foreign text safe for a terminal: it is shown, never executed.

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
