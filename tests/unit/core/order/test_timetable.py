"""When running jobs began and are gone, and how much of each limit they still use then."""

from muster.core.order.timetable import Timetable
from muster.model.ids import GpuType, JobId, TeamPath
from muster.model.policy import HOUR_MS
from tests.builders import NOW_MS, a_job, runs

TEAM, ANY = TeamPath("a"), GpuType("*")


def a_timetable() -> Timetable:
    made = Timetable()
    for hours, milli in ((1, 1000), (2, 2000), (2, 4000)):
        job = runs(f"j{milli}", a_job(), [("n1", [0])], hours_ago=hours)
        made.add(job, NOW_MS + hours * HOUR_MS, (((TEAM, ANY), milli),))
    return made


def test_what_jobs_use_counts_until_they_are_gone() -> None:
    table = a_timetable()
    used = [table.still_used_milli(TEAM, ANY, NOW_MS + hours * HOUR_MS) for hours in (0, 1, 2)]
    assert used == [7000, 6000, 0]
    assert table.still_used_milli(TeamPath("b"), ANY, NOW_MS) == 0


def test_a_job_that_no_longer_runs_is_nowhere() -> None:
    table = a_timetable()
    table.remove(runs("j2000", a_job(), [("n1", [0])], hours_ago=2))
    assert table.still_used_milli(TEAM, ANY, NOW_MS + HOUR_MS) == 4000
    assert [job for _, job in table.ends] == ["j1000", "j4000"]
    assert [job for _, job in table.begins] == ["j4000", "j1000"]


def test_jobs_that_began_between_two_times() -> None:
    table = a_timetable()
    assert table.began_between(NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS) == [JobId("j1000")]
    assert table.began_between(0, NOW_MS) == ["j2000", "j4000", "j1000"]
