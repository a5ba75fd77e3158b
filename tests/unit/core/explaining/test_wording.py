"""Times, names and lost work as people say them."""

import pytest

from muster.core.explaining.wording import gpu_time, named, no_more_than, time_left
from muster.model.policy import DAY_MS, HOUR_MS, MINUTE_MS

TIMES = [
    (0, "0 s", "0 s"),
    (1, "1 s", "0 s"),
    (14_000, "14 s", "14 s"),
    (59_001, "1 min", "59 s"),
    (MINUTE_MS, "1 min", "1 min"),
    (586_000, "9 min 46 s", "9 min 46 s"),
    (HOUR_MS - 1, "1 h", "59 min 59 s"),
    (HOUR_MS + 1, "1 h 1 min", "1 h"),
    (4 * HOUR_MS, "4 h", "4 h"),
    (DAY_MS - 1, "1 d", "23 h 59 min"),
    (7 * DAY_MS - HOUR_MS, "6 d 23 h", "6 d 23 h"),
]


@pytest.mark.parametrize(("ms", "left", "at_most"), TIMES)
def test_a_time_left_is_rounded_up_and_a_bound_down(ms: int, left: str, at_most: str) -> None:
    assert (time_left(ms), no_more_than(ms)) == (left, at_most)


def test_a_few_names_are_told_and_how_many_more_there_are() -> None:
    assert named(()) == ""
    assert named(("a",)) == "a"
    assert named(("a", "b")) == "a and b"
    assert named(("a", "b", "c")) == "a, b and c"
    assert named(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"


def test_lost_work_is_told_in_gpu_hours_or_minutes() -> None:
    assert gpu_time(MINUTE_MS) == "1 GPU minute"
    assert gpu_time(HOUR_MS - 1) == "60 GPU minutes"
    assert gpu_time(HOUR_MS) == "1 GPU hour"
    assert gpu_time(150 * MINUTE_MS) == "2.5 GPU hours"
    assert gpu_time(2000 * HOUR_MS) == "2,000 GPU hours"
