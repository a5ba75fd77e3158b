"""A console of Rich that writes out control characters, and leaves a broken pipe to the command line."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text as RichText

from muster.model.printable import printable


class SafeConsole(Console):
    """Leaves a broken pipe to the command line. Rich would end the process with exit code 1."""

    def on_broken_pipe(self) -> None:
        """Pass the error on. Rich calls this while it handles the error."""
        self.quiet = True
        raise BrokenPipeError

    def render_str(self, text: str, **settings: Any) -> RichText:
        """Text in a cell or a title."""
        return super().render_str(printable(text), **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """All that is drawn, also what was not made of our own `Text`. Rich's own control codes are left alone."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))
