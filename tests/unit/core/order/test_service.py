"""Bands of GPU time, and the index that knows which running jobs are in which band."""

from random import Random

import pytest

from muster.core.cluster.node_use import NodeUse
from muster.core.cluster.setting import Setting
from muster.core.cluster.tree import Tree
from muster.core.order.run_times import run_ms
from muster.core.order.service import aged_ms, band_of, enters_ms, running_place
from muster.core.order.service_index import ServiceIndex
from muster.model.ids import GpuType, JobId, NodeName, TierName
from muster.model.job import RunningJob
from muster.model.limits import BANDS, SETTLING_MS, STARVED_BAND
from muster.model.node import ClusterSpec, Node
from muster.model.policy import DEFAULT_TIERS, HOUR_MS, Policy, Tier
from muster.model.resources import GPU_MILLI
from tests.builders import NOW_MS, a_job, runs

STANDARD = TierName("standard")
POLICY = Policy()
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
            a_job(gpus=chance.choice([1, 4, 8]), checkpoint=True, priority=chance.choice([50, 51])),
            [("n1", range(1))],
            hours_ago=chance.random() * 30,
            attained_gpu_ms=round(chance.random() ** 4 * 500 * HOUR_MS),
            starved=chance.random() < 0.2,
        )
        for number in range(60)
    ]


def an_index(policy: Policy = POLICY, tiers: tuple[Tier, ...] = DEFAULT_TIERS) -> ServiceIndex:
    tree = Tree(ClusterSpec(nodes=(Node(name=NodeName("n1"), gpus=8, gpu_type=GpuType("gpu")),)))
    return ServiceIndex(Setting(tree=tree, tiers=tiers, pools=(), policy=policy))


def add(index: ServiceIndex, job: RunningJob) -> None:
    gpus = tuple((device, GPU_MILLI) for device in range(job.spec.gang_gpu_milli // GPU_MILLI))
    index.add(job, END_MS, (NodeUse(0, gpus, 0, 0, 0),))


def found(index: ServiceIndex, tier: TierName, now_ms: int) -> dict[JobId, int]:
    """Every candidate of a tier with its band."""
    worst = index.candidates.worst_band(tier, now_ms)
    return {each[2]: band for band in range(worst + 1) for each in index.candidates.in_band(tier, band, now_ms)}


def may_leave(job: RunningJob, now_ms: int) -> bool:
    ran_ms = now_ms - job.started_ms + run_ms(job.spec, job.attained_gpu_ms)
    return now_ms - job.started_ms >= SETTLING_MS and ran_ms >= POLICY.min_runtime_ms


def test_the_index_finds_the_jobs_of_each_band_and_when_the_next_enters_it() -> None:
    chance = Random(7)
    jobs, index = some_jobs(chance), an_index()
    for job in jobs:
        add(index, job)
    for job in jobs[::3]:
        index.remove(job)
    left = [job for place, job in enumerate(jobs) if place % 3]
    moments = [NOW_MS + round(chance.uniform(-35, 300) * HOUR_MS) for _ in range(40)]
    for now_ms in (*sorted(moments), *moments):  # forward at first, then to and fro
        bands = {job.id: running_place(job, POLICY, now_ms).band for job in left if may_leave(job, now_ms)}
        assert found(index, STANDARD, now_ms) == bands
        assert index.candidates.worst_band(STANDARD, now_ms) == max(bands.values(), default=-1)
        for band in range(BANDS):
            there = [job for job in left if bands.get(job.id) == band]
            listed = index.candidates.in_band(STANDARD, band, now_ms)
            assert [each[:3] for each in listed] == sorted(
                (aged_ms(job, POLICY), job.started_ms, job.id) for job in there
            )
            gpu_milli = sum(job.spec.gang_gpu_milli for job in there)
            assert index.candidates.gpu_milli(STANDARD, band, now_ms) == gpu_milli
            later = [at_ms for job in left if (at_ms := enters_ms(job, band)) is not None and now_ms < at_ms <= END_MS]
            started = [job.started_ms for job in left if band == 0 and now_ms < job.started_ms]
            assert index.next_entry_ms(STANDARD, band, now_ms) == min(started if band == 0 else later, default=None)


def test_a_job_is_found_from_the_moment_on_at_which_it_may_be_told_to_leave() -> None:
    new = runs("new", a_job(gpus=1, checkpoint=True), [("n1", range(1))], hours_ago=0)
    back = runs("back", a_job(gpus=1, checkpoint=True), [("n1", range(1))], hours_ago=0, attained_gpu_ms=HOUR_MS)
    index = an_index()
    add(index, new)
    add(index, back)
    for at_ms, job_ids in ((SETTLING_MS, ["back"]), (POLICY.min_runtime_ms, ["back", "new"])):
        assert sorted(found(index, STANDARD, NOW_MS + at_ms)) == job_ids
        assert sorted(found(index, STANDARD, NOW_MS + at_ms - 1)) == job_ids[:-1]


def test_jobs_that_cannot_resume_and_jobs_of_other_tiers_are_not_found() -> None:
    index = an_index()
    add(index, runs("stubborn", a_job(gpus=8), [("n1", range(8))], hours_ago=50))
    add(index, runs("other", a_job(gpus=8, checkpoint=True, tier="exploratory"), [("n1", range(8))]))
    assert found(index, STANDARD, NOW_MS) == {}
    assert list(found(index, TierName("exploratory"), NOW_MS)) == ["other"]


def test_jobs_that_are_protected_or_leave_already_are_not_found() -> None:
    index, safe = an_index(), a_job(gpus=1, checkpoint=True, preemptible=False)
    add(index, runs("safe", safe, [("n1", range(1))]))
    add(index, runs("urgent", a_job(gpus=1, checkpoint=True, tier="production"), [("n1", range(1))]))
    add(index, runs("told", a_job(gpus=1, checkpoint=True), [("n1", range(1))], leaving_by_ms=NOW_MS))
    assert [found(index, tier.name, NOW_MS) for tier in DEFAULT_TIERS] == [{}, {}, {}]
    assert len(index.by_run_time) == 3


def test_nothing_is_kept_that_the_policy_never_asks_for() -> None:
    still = an_index(Policy(preemption=False, consolidation=False, elastic=False))
    moving = an_index(Policy(turns=False))
    for index in (still, moving):
        for job in some_jobs(Random(3)):
            add(index, job)
        assert found(index, STANDARD, NOW_MS + 50 * HOUR_MS) == {}
        assert index.next_entry_ms(STANDARD, 3, NOW_MS) is None
    assert (len(still.by_run_time), len(moving.by_run_time)) == (0, 60)
    moving.remove(some_jobs(Random(3))[0])
    assert len(moving.by_run_time) == 59
