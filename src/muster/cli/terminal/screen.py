"""Where commands print: tables for people, JSON for programs, messages on stderr.

Everything passes through here, and nothing that others wrote reaches a terminal as it is: control characters are
written out, in JSON as JSON does. Colours are for terminals only, and not where NO_COLOR is set. What goes to a file
or another program is never cut.
"""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text as RichText

from muster.cli.terminal.text import Text
from muster.model.printable import as_json, one_line, printable

PIPED_COLUMNS = 100
"""The width of prose that goes to a file or another program; tables there are as wide as they need to be."""
UNBOUNDED_COLUMNS = 100_000
WIDE_COLUMNS = 110
"""From here on tables have the columns that are nice to have."""


class _Screen(Console):
    """Leaves it to the command line what it means when nobody reads any more; else rich ends the process with 1."""

    def on_broken_pipe(self) -> None:
        """Called while the error is being handled: pass it on."""
        self.quiet = True
        raise BrokenPipeError

    def render_str(self, text: str, **settings: Any) -> RichText:
        """Text in a cell or a title."""
        return super().render_str(printable(text), **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Whatever is drawn, also what was not made of our own `Text`; what Rich says to the terminal is left alone."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def screen(*, stderr: bool = False) -> Console:
    """The terminal, or whatever stands in for it."""
    # What a file or a server says is text: square brackets in a job's name are no markup.
    console = _Screen(highlight=False, markup=False, emoji=False, stderr=stderr, soft_wrap=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_COLUMNS
    return console


def is_terminal() -> bool:
    """True when standard output is a terminal, which obeys what it is sent."""
    return sys.stdout.isatty()


def is_plain(console: Console) -> bool:
    """True where only ASCII can be shown."""
    return not console.encoding.lower().startswith("utf")


def is_piped(console: Console) -> bool:
    """True when no person is looking, and nothing says how wide the output may be."""
    return not console.is_terminal and "COLUMNS" not in os.environ


def is_wide(console: Console) -> bool:
    """True when there is room for the columns that are nice to have."""
    return is_piped(console) or console.width >= WIDE_COLUMNS


def show(body: RenderableType, console: Console | None = None) -> None:
    """Print something for people; a table that is piped is as wide as it needs to be, and no line is padded."""
    console = console or screen()
    if is_piped(console):
        unbounded = console.options.update(width=UNBOUNDED_COLUMNS)
        console.width = max(PIPED_COLUMNS, Measurement.get(console, unbounded, body).maximum)
    for line in rendered(body, console):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def rendered(body: RenderableType, console: Console) -> Iterable[Text]:
    """The lines of something for people, without blanks at their ends."""
    for segments in console.render_lines(body, pad=False):
        line = Text()
        for segment in segments:
            line.append(segment.text, style=segment.style)
        line.rstrip()
        yield line


def show_json(value: object) -> None:
    """Print a value for programs."""
    typer.echo(json_text(value, indent=2))


def show_json_line(value: object) -> None:
    """Print one of several values for programs, on a line of its own."""
    typer.echo(json_text(value))


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value as JSON that is safe to look at: what would act on a terminal is escaped as JSON does."""
    return as_json(json.dumps(value, indent=indent, ensure_ascii=False, default=str))


def show_text(text: str) -> None:
    """Print text of several lines as it is written, such as a job file."""
    typer.echo(printable(text))


def show_ids(ids: Iterable[str]) -> None:
    """Print one id to a line."""
    for each in ids:
        typer.echo(one_line(each))


def note(message: str) -> None:
    """Tell a person something that is not the answer."""
    typer.echo(f"muster: {printable(message)}", err=True)
