"""Times for people, worked out without a clock."""

from datetime import UTC, datetime

import pytest

from muster.model.printable import moment_text, span_text

DAY_MS = 86_400_000


def test_moments_are_written_like_the_calendar_has_them() -> None:
    for moment_ms in range(0, 80 * 366 * DAY_MS, 13 * DAY_MS + 3_723_000):
        expected = datetime.fromtimestamp(moment_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert moment_text(moment_ms) == expected


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [
        (-5, "0 s"),
        (1, "1 s"),
        (59_000, "59 s"),
        (61_000, "2 min"),
        (3_600_000, "1 h"),
        (3_700_000, "1 h 2 min"),
        (DAY_MS, "1 d"),
        (DAY_MS + 1, "1 d 1 h"),
    ],
)
def test_lengths_of_time_are_rounded_up(span_ms: int, text: str) -> None:
    assert span_text(span_ms) == text
