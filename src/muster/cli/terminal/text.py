"""Text for people, with and without colours. Control characters in it are written out: see `model.printable`.

Every command that draws something uses this `Text`, so that what is measured is what is printed.
"""

from collections.abc import Iterable
from typing import Any

from rich import text as rich_text
from rich.style import Style

from muster.model.printable import printable


class Text(rich_text.Text):
    """Rich's text, in which control characters are written out when it is made."""

    def __init__(self, text: str = "", *rest: Any, **more: Any) -> None:
        super().__init__(printable(text), *rest, **more)

    def append(self, text: "rich_text.Text | str", style: str | Style | None = None) -> "Text":
        """Add text at the end."""
        super().append(printable(text) if isinstance(text, str) else text, style)
        return self

    @classmethod
    def assemble(cls, *parts: Any, **settings: Any) -> "Text":
        """Text of several parts, each with or without a style."""
        made = super().assemble(*parts, **settings)
        assert isinstance(made, cls)  # Rich makes an instance of the class it is called on.
        return made

    def append_text(self, text: rich_text.Text) -> "Text":
        """Add another text with its styles."""
        super().append_text(text)
        return self

    def copy(self) -> "Text":
        """A copy that can be changed."""
        return Text("", style=self.style, no_wrap=self.no_wrap, overflow=self.overflow).append_text(self)

    def join(self, lines: Iterable[rich_text.Text]) -> "Text":
        """The lines with this text between them."""
        return Text().append_text(super().join(lines))
