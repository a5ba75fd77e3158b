"""Curves in a terminal: where the dots are, and what is marked."""

import pytest

from muster.answers.measures import Measure
from muster.cli.commands.curve import drawn_points, resumed_at, undefined_steps
from muster.cli.drawing.curve import curve
from tests.unit.cli.conftest import NOW


def measure(step: int, attempt: int = 1, **values: float) -> Measure:
    return Measure(attempt=attempt, at=NOW, step=step, values=values)


def rows(text: str) -> list[str]:
    return text.splitlines()


def test_a_falling_line_begins_at_the_top_left_and_ends_at_the_bottom_right() -> None:
    drawn = rows(curve([(0, 1), (10, 0)], width=10, height=4).plain)
    assert drawn[0][2] != "⠀"
    assert drawn[3][-1] != "⠀"
    assert drawn[0].startswith("1 ")
    assert drawn[3].startswith("0 ")
    assert drawn[-1].split() == ["0", "10"]


@pytest.mark.parametrize("points", [[(5.0, 2.0)], [(0.0, 2.0), (9.0, 2.0)]])
def test_a_level_line_and_a_single_point_are_drawn_too(points: list[tuple[float, float]]) -> None:
    drawn = curve(points, width=8, height=3).plain
    assert any("⠀" < letter <= "⣿" for letter in drawn)


def test_breaks_are_marked_below_the_axis_and_those_outside_are_not() -> None:
    marks = rows(curve([(0, 1), (100, 2)], width=11, height=3, breaks=[50, 200]).plain)[-2]
    assert marks.strip() == "↻"
    assert marks.index("↻") == len("1 ") + 5


def test_a_step_that_was_done_again_counts_once_with_its_newer_value() -> None:
    found = [measure(1, loss=3), measure(2, loss=2), measure(2, 2, loss=2.5), measure(3, 2, loss=1, accuracy=9)]
    assert drawn_points(found, "loss") == [(1.0, 3.0), (2.0, 2.5), (3.0, 1.0)]
    assert drawn_points(found, "accuracy") == [(3.0, 9.0)]
    assert resumed_at(found) == [2.0]


def test_a_loss_that_is_no_number_is_told_and_not_drawn_unless_it_was_done_again() -> None:
    broken = [Measure(attempt=1, at=NOW, step=step, values={}, no_numbers=("loss",)) for step in (2, 3, 4)]
    found = [measure(1, loss=3), *broken, measure(2, 2, loss=2.5)]
    assert drawn_points(found, "loss") == [(1.0, 3.0), (2.0, 2.5)]
    assert undefined_steps(found, "loss") == [3, 4]
    assert undefined_steps(found, "accuracy") == []
