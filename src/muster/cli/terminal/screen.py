"""Where commands print: tables for people, JSON for programs, messages on stderr.

All that commands say passes through here, so that text from other people cannot control the terminal: control
characters are written out, in JSON as JSON escapes. What workers print does not pass through here: see `log_printers`
and `raw_terminal`. Colours are for terminals only, and only if NO_COLOR is not set. Output to a file or another program
is never cut.
"""

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from muster.model.printable import as_json, one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from muster.cli.terminal.text import Text

# What draws is imported when something is drawn: JSON, ids and messages do not need it.
# ruff: noqa: PLC0415

PIPED_COLUMNS = 100
"""The least width of output to a file or another program. `show` makes it as wide as the longest line needs."""
UNBOUNDED_COLUMNS = 100_000
WIDE_COLUMNS = 110
"""From this width on, tables have their optional columns."""


def screen(*, stderr: bool = False) -> "Console":
    """The terminal, or the file or pipe in its place."""
    from muster.cli.terminal.console import SafeConsole

    # What a file or a server says is plain text: square brackets in a job's name are no markup.
    console = SafeConsole(highlight=False, markup=False, emoji=False, stderr=stderr, soft_wrap=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_COLUMNS
    return console


def is_terminal() -> bool:
    """True when standard output is a terminal, which obeys control characters."""
    return sys.stdout.isatty()


def is_plain(console: "Console") -> bool:
    """True where only ASCII can be shown."""
    return not console.encoding.lower().startswith("utf")


def is_piped(console: "Console") -> bool:
    """True when the output is not a terminal, and COLUMNS does not say how wide it may be."""
    return not console.is_terminal and "COLUMNS" not in os.environ


def is_wide(console: "Console") -> bool:
    """True when there is room for optional columns."""
    return is_piped(console) or console.width >= WIDE_COLUMNS


def show(body: "RenderableType", console: "Console | None" = None) -> None:
    """Print something for people. Piped output is as wide as it needs to be, and no line is padded."""
    from rich.measure import Measurement

    console = console or screen()
    if is_piped(console):
        unbounded = console.options.update(width=UNBOUNDED_COLUMNS)
        console.width = max(PIPED_COLUMNS, Measurement.get(console, unbounded, body).maximum)
    for line in rendered(body, console):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def rendered(body: "RenderableType", console: "Console") -> "Iterable[Text]":
    """The lines of something for people, without blanks at their ends."""
    from muster.cli.terminal.text import Text

    for segments in console.render_lines(body, pad=False):
        line = Text()
        for segment in segments:
            line.append(segment.text, style=segment.style)
        line.rstrip()
        yield line


def show_json(value: object) -> None:
    """Print a value for programs."""
    _echo(json_text(value, indent=2))


def show_json_line(value: object) -> None:
    """Print one of several values for programs, on a line of its own."""
    _echo(json_text(value))


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value as JSON that is safe on a terminal: characters that a terminal obeys are escaped."""
    return as_json(json.dumps(value, indent=indent, ensure_ascii=False, default=str))


def show_text(text: str) -> None:
    """Print text of several lines as it is written, such as a job file."""
    _echo(printable(text))


def show_ids(ids: Iterable[str]) -> None:
    """Print one id to a line."""
    for each in ids:
        _echo(one_line(each))


def note(message: str) -> None:
    """Tell a person something that is not the answer."""
    _echo(f"muster: {printable(message)}", err=True)


def _echo(text: str, *, err: bool = False) -> None:
    import typer  # `srun` outside of an allocation says nothing, and does without it

    typer.echo(text, err=err)
