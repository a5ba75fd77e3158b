"""A list of lines with a cursor. Only the lines on the screen are drawn, however many there are."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from muster.cli.drawing.table import TextTable

HEADING_ROWS = 1


class Rows(ScrollView, can_focus=True):
    """The rows of a table below its headings. The cursor stays on its row when rows come and go above it."""

    BINDINGS = [  # noqa: RUF012 - textual declares it so
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "edge(-1)", show=False),
        Binding("end,G", "edge(1)", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - as in all widgets
        super().__init__(id=id)
        self._keys: Sequence[str] = ()
        self._table = TextTable("")
        self._widths: list[int] = []
        self._cursor = 0

    @property
    def key(self) -> str | None:
        """The row with the cursor."""
        return self._keys[self._cursor] if self._keys else None

    def show_table(self, keys: Sequence[str], table: TextTable) -> None:
        """Show these rows."""
        before = self.key
        self._keys = keys
        self._table = table
        self._widths = table.widths(max(1, self.scrollable_content_region.width))
        if before in keys:
            self._cursor = keys.index(before)
        self._cursor = max(0, min(self._cursor, len(keys) - 1))
        self.virtual_size = Size(self.scrollable_content_region.width, len(keys) + HEADING_ROWS)
        self._follow_cursor()
        self.refresh()
        if self.key != before:
            self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        row = y if y < HEADING_ROWS else y + self.scroll_offset.y
        if not self._widths or row > len(self._keys):
            return Strip.blank(self.size.width, self.rich_style)
        at = row - HEADING_ROWS
        line = self._table.heading(self._widths) if at < 0 else self._table.line(at, self._widths)
        is_cursor = bool(self._keys) and row == self._cursor + HEADING_ROWS
        base = Style(reverse=True, bold=self.has_focus) if is_cursor else Style()
        segments = [
            Segment(segment.text, self.rich_style + (segment.style or Style()) + base)
            for segment in line.render(self.app.console)
            if segment.text
        ]
        return Strip(segments).adjust_cell_length(self.size.width, self.rich_style + base)

    def action_move(self, by: int) -> None:
        """Move the cursor by rows."""
        self._go(self._cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        self._go(self._cursor + by * max(1, self.size.height - HEADING_ROWS))

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first or the last row."""
        self._go(0 if side < 0 else len(self._keys) - 1)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the user points."""
        if event.y >= HEADING_ROWS and event.y + self.scroll_offset.y <= len(self._keys):
            self._go(event.y + self.scroll_offset.y - HEADING_ROWS)

    def _go(self, row: int) -> None:
        row = max(0, min(row, len(self._keys) - 1))
        if row != self._cursor:
            self._cursor = row
            self._follow_cursor()
            self.refresh()
            self.post_message(self.Moved())

    def _follow_cursor(self) -> None:
        """Scroll so far that the cursor can be seen."""
        room = max(1, self.size.height - HEADING_ROWS)
        top = self.scroll_offset.y
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False)
        elif self._cursor >= top + room:
            self.scroll_to(y=self._cursor - room + 1, animate=False)
