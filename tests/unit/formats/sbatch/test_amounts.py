from datetime import UTC, datetime, timedelta, timezone

import pytest

from muster.formats.sbatch.amounts import begin

NOW = datetime(2026, 3, 1, 15, 30, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "0s"),
        ("now+90", "90s"),
        ("now+2hours", "7200s"),
        ("now+3days", "259200s"),
        ("16:00", "2026-03-01T15:00:00Z"),
        ("08:15:30", "2026-03-02T07:15:30Z"),
        ("midnight", "2026-03-01T23:00:00Z"),
        ("tomorrow", "2026-03-01T23:00:00Z"),
        ("2026-04-05", "2026-04-04T23:00:00Z"),
        ("2026-04-05T06:07", "2026-04-05T05:07:00Z"),
    ],
)
def test_a_time_to_begin_is_read_as_slurm_does(text: str, expected: str) -> None:
    assert begin(text, NOW) == expected
    assert NOW.astimezone(UTC).hour == 14
