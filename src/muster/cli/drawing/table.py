"""Tables for people: columns without lines round them, as wide as the window and no wider.

If the window is too narrow, the widest of the columns that may be cut is narrowed first. Cut cells end in `…`. The
other columns are never cut: an incomplete id or number is of no use.
"""

from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement

from muster.cli.terminal.text import Text
from muster.model.printable import one_line

GAP = 2
CUT_TO = 8
"""The least width of a column that is cut."""


class TextTable:
    """A table that is filled row by row."""

    def __init__(self, *headings: str, numbers: Iterable[str] = (), cut: Iterable[str] = ()) -> None:
        """Columns in `numbers` are aligned to the right. Columns in `cut` may be cut."""
        self._headings = headings
        self._right = [heading in tuple(numbers) for heading in headings]
        self._cut = [heading in tuple(cut) for heading in headings]
        self._rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row with a cell for each column."""
        assert len(cells) == len(self._headings)
        self._rows.append([_cell(cell) for cell in cells])

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As wide as its widest cells need."""
        width = sum(self._natural()) + GAP * (len(self._headings) - 1)
        return Measurement(min(width, options.max_width), width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Line by line, without blanks at the ends."""
        yield from self.lines(options.max_width)

    def lines(self, max_width: int) -> list[Text]:
        """The headings, if there are any, and a line for each row, all no wider than this."""
        widths = self.widths(max_width)
        head = [self.heading(widths)] if any(self._headings) else []
        return head + [self._line(row, widths) for row in self._rows]

    def heading(self, widths: Sequence[int]) -> Text:
        """The line above the rows."""
        return self._line([Text(heading, style="dim") for heading in self._headings], widths)

    def line(self, row: int, widths: Sequence[int]) -> Text:
        """The line of one row, for columns of these widths."""
        return self._line(self._rows[row], widths)

    def _line(self, row: Sequence[Text], widths: Sequence[int]) -> Text:
        line = Text(" " * GAP).join(self._cell(*each) for each in zip(row, widths, self._right, strict=True))
        line.rstrip()
        line.no_wrap, line.overflow = True, "ignore"
        return line

    def _cell(self, text: Text, width: int, right: bool) -> Text:
        cell = text.copy()
        cell.truncate(width, overflow="ellipsis")
        if right:
            cell.pad_left(width - cell.cell_len)
        else:
            cell.pad_right(width - cell.cell_len)
        return cell

    def _natural(self) -> list[int]:
        columns = zip(*self._rows, strict=True) if self._rows else ((),) * len(self._headings)
        headings = (Text(heading).cell_len for heading in self._headings)
        return [max([head, *(cell.cell_len for cell in cells)]) for head, cells in zip(headings, columns, strict=True)]

    def widths(self, width: int) -> list[int]:
        """The widths of all columns: as wide as their cells, unless some have to be cut."""
        widths = self._natural()
        excess = sum(widths) + GAP * (len(widths) - 1) - width
        least = [max(CUT_TO, len(heading)) for heading in self._headings]
        while excess > 0:
            room = [at for at, cut in enumerate(self._cut) if cut and widths[at] > least[at]]
            if not room:
                break
            widest = max(room, key=lambda at: widths[at])
            widths[widest] -= 1
            excess -= 1
        return widths


def _cell(given: str | Text) -> Text:
    """A cell on one line: a line break in a name would look like a new row."""
    cell = Text(given) if isinstance(given, str) else given.copy()
    cell.plain = one_line(cell.plain)
    return cell
