"""Bands of GPU time, and the index that knows which running jobs are in which band."""

from random import Random

import pytest

from muster.core.order.service import band_of, enters_ms, running_place
from muster.core.order.service_index import ServiceIndex
from muster.model.ids import TierName
from muster.model.job import RunningJob
from muster.model.limits import BANDS, STARVED_BAND
from muster.model.policy import HOUR_MS, Policy
from tests.builders import NOW_MS, a_job, runs

STANDARD = TierName("standard")
END_MS = NOW_MS + 10_000 * HOUR_MS


@pytest.mark.parametrize(
    ("gpu_hours", "band"), [(0, 0), (0.99, 0), (1, 1), (9.99, 1), (10, 2), (99, 2), (100, 3), (10**12, BANDS - 1)]
)
def test_a_band_ends_at_ten_times_the_gpu_time_of_the_one_before(gpu_hours: float, band: int) -> None:
    assert band_of(round(gpu_hours * HOUR_MS), starved=False) == band
    assert band_of(round(gpu_hours * HOUR_MS), starved=True) == min(band, STARVED_BAND)


def test_a_running_job_enters_a_band_to_the_moment() -> None:
    job = runs("j", a_job(gpus=3, checkpoint=True), [("n1", range(3))], hours_ago=0, attained_gpu_ms=HOUR_MS // 2)
    for band in (1, 2, 3):
        at_ms = enters_ms(job, band)
        assert at_ms is not None
        assert [running_place(job, Policy(), at_ms - by).band for by in (1, 0)] == [band - 1, band]


def test_a_job_that_has_starved_never_enters_a_band_beyond_its_own() -> None:
    job = runs("j", a_job(gpus=1, checkpoint=True), [("n1", range(1))], starved=True)
    assert enters_ms(job, STARVED_BAND) is not None
    assert enters_ms(job, STARVED_BAND + 1) is None


def test_a_point_of_priority_makes_a_job_older() -> None:
    usual, urgent = (
        runs("j", a_job(gpus=1, priority=priority), [("n1", range(1))], submitted_ms=NOW_MS) for priority in (50, 51)
    )
    policy = Policy(ageing_ms=HOUR_MS)
    places = [running_place(job, policy, NOW_MS) for job in (usual, urgent)]
    assert places[0].aged_ms - places[1].aged_ms == HOUR_MS


def some_jobs(chance: Random) -> list[RunningJob]:
    return [
        runs(
            f"j{number}",
            a_job(gpus=chance.choice([1, 4, 8]), checkpoint=True),
            [("n1", range(1))],
            hours_ago=chance.random() * 30,
            attained_gpu_ms=round(chance.random() ** 4 * 500 * HOUR_MS),
            starved=chance.random() < 0.2,
        )
        for number in range(60)
    ]


def test_the_index_finds_the_jobs_of_each_band_and_when_the_next_enters_it() -> None:
    chance = Random(7)
    jobs, index = some_jobs(chance), ServiceIndex()
    for job in jobs:
        index.add(job, END_MS)
    for job in jobs[::3]:
        index.remove(job, END_MS)
    left = [job for place, job in enumerate(jobs) if place % 3]
    for now_ms in (NOW_MS, NOW_MS + 5 * HOUR_MS, NOW_MS + 300 * HOUR_MS):
        bands = {job.id: running_place(job, Policy(), now_ms).band for job in left}
        assert index.top_band(STANDARD, now_ms) == max(bands.values())
        for band in range(BANDS):
            assert sorted(index.in_band(STANDARD, band, now_ms)) == sorted(
                job_id for job_id, each in bands.items() if each == band
            )
            later = [at_ms for job in left if (at_ms := enters_ms(job, band)) is not None and now_ms < at_ms <= END_MS]
            assert index.next_entry_ms(STANDARD, band, now_ms) == min(later, default=None)


def test_jobs_that_cannot_resume_and_jobs_of_other_tiers_are_not_found() -> None:
    index = ServiceIndex()
    index.add(runs("stubborn", a_job(gpus=8), [("n1", range(8))], hours_ago=50), END_MS)
    index.add(runs("other", a_job(gpus=8, checkpoint=True, tier="exploratory"), [("n1", range(8))]), END_MS)
    assert index.top_band(STANDARD, NOW_MS) is None
    band = index.top_band(TierName("exploratory"), NOW_MS)
    assert band is not None
    assert index.in_band(TierName("exploratory"), band, NOW_MS) == ["other"]
