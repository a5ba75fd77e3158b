"""A curve in a terminal, drawn with braille dots: two beside and four above one another in each character."""

from collections.abc import Sequence
from itertools import pairwise

from muster.cli.terminal.text import Text

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800
Point = tuple[float, float]


def curve(points: Sequence[Point], *, width: int, height: int, breaks: Sequence[float] = ()) -> Text:
    """The points, joined by lines, with their range at the left. `breaks` are marked below the axis."""
    low, high = _range([y for _, y in points])
    first, last = points[0][0], max(points[-1][0], points[0][0] + 1)
    labels = [f"{high:.4g}", *[""] * (height - 2), f"{low:.4g}"]
    margin = max(map(len, labels))
    dots = _dots([_place(point, first, last, low, high, width, height) for point in points], width, height)
    drawn = Text()
    for label, row in zip(labels, dots, strict=True):
        drawn.append(f"{label:>{margin}} ", style="dim")
        drawn.append("".join(chr(_BLANK + cell) for cell in row) + "\n", style="cyan")
    drawn.append(" " * (margin + 1) + _marks(breaks, first, last, width) + "\n", style="yellow")
    drawn.append(f"{' ' * (margin + 1)}{first:<{width // 2}g}{last:>{width - width // 2}g}", style="dim")
    return drawn


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _place(
    point: Point, first: float, last: float, low: float, high: float, width: int, height: int
) -> tuple[int, int]:
    """Column and row of a point, in dots."""
    across = (point[0] - first) / (last - first)
    up = (point[1] - low) / (high - low)
    return round(across * (2 * width - 1)), round((1 - up) * (4 * height - 1))


def _dots(places: Sequence[tuple[int, int]], width: int, height: int) -> list[list[int]]:
    cells = [[0] * width for _ in range(height)]
    for (column, row), (to_column, to_row) in pairwise([*places, places[-1]]):
        count = max(abs(to_column - column), abs(to_row - row), 1)
        for step in range(count + 1):
            x = column + (to_column - column) * step // count
            y = row + (to_row - row) * step // count
            cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    return cells


def _marks(breaks: Sequence[float], first: float, last: float, width: int) -> str:
    marked = [" "] * width
    for each in breaks:
        if first <= each <= last:
            marked[round((each - first) / (last - first) * (width - 1))] = "↻"
    return "".join(marked)
