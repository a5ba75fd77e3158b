r"""Text that others wrote -> text that a terminal shows and does not obey.

A terminal takes control characters for commands: one clears the screen, one renames the window, one types an answer as
if the user had. Characters that turn the direction of reading, and half characters, make a line say something else than
it does. All of these are written out, as `\x1b` or `\u202e`.
"""

import re

_HARMFUL = (
    "\\x00-\\x08\\x0b-\\x1f"  # C0 but tabs and line breaks
    "\\x7f-\\x9f"  # DEL and C1
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # the direction of reading
    "\\u2028\\u2029"  # other ways to break a line
    "\\ud800-\\udfff"  # half characters
)
_IN_LINES = re.compile(f"[{_HARMFUL}]")
_IN_ONE_LINE = re.compile(f"[\\t\\n{_HARMFUL}]")


def printable(text: str) -> str:
    """The text with everything written out that a terminal would obey; tabs and line breaks stay."""
    return text if text.isprintable() else _IN_LINES.sub(_written_out, text)


def one_line(text: str) -> str:
    """The same where the text stands in a line among others: it cannot begin one of its own."""
    return text if text.isprintable() else _IN_ONE_LINE.sub(_written_out, text)


def as_json(document: str) -> str:
    """The same for a JSON document, which stays one and says the same: outside its texts it has none of these."""
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
