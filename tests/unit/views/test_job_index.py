"""Which jobs there are, by submission."""

from muster.model.events import Event, JobHeld, JobSubmitted
from muster.model.ids import JobId
from muster.views.job_index import STALE_MAX, JobIndex
from tests.builders import a_job


def _submitted(version: int, job: str) -> tuple[int, Event]:
    return version, JobSubmitted(at_ms=version, job=JobId(job), spec=a_job())


def test_jobs_are_walked_newest_first_from_any_place() -> None:
    index = JobIndex(2, [JobId("a"), JobId("b")])
    index.note([_submitted(3, "c"), (4, JobHeld(at_ms=4, job=JobId("c"))), _submitted(5, "b")])
    assert index.version == 5
    assert list(index.newest()) == [(2, "c"), (1, "b"), (0, "a")]
    assert list(index.newest(before=2)) == [(1, "b"), (0, "a")]


def test_what_is_over_is_passed_by_and_cleared_away() -> None:
    count = STALE_MAX * 3
    index = JobIndex(0, [JobId(f"j{number}") for number in range(count)])
    over = {f"j{number}" for number in range(count) if number % 3}
    expected = [(place, f"j{place}") for place in range(count - 1, -1, -1) if place % 3 == 0]
    assert list(index.newest_active(over.__contains__)) == expected
    asked: list[str] = []

    def is_over(job: JobId) -> bool:
        asked.append(job)
        return job in over

    assert list(index.newest_active(is_over)) == expected
    assert len(asked) == len(expected)
    assert list(index.newest_active(over.__contains__, before=4)) == [(3, "j3"), (0, "j0")]
