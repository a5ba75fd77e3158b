from itertools import pairwise

import pytest

from muster.model.ids import GpuType
from muster.model.policy import HOUR_MS
from muster.sim import timeline as timeline_module
from muster.sim.faults import FaultRates
from muster.sim.fragmentation import FreeNode, JobMix, Shape, unusable_milli
from tests.builders import a_cluster, a_job, a_node
from tests.unit.sim.builders import S, a_trace_job, replayed

ONE = Shape(1000, 0, 0, ())
FOUR = Shape(4000, 0, 0, ())
HALF = Shape(500, 0, 0, ())


def free(*gpus_milli: int, cpus: int = 0, memory_bytes: int = 0, kind: str = "h100") -> FreeNode:
    return FreeNode(gpus_milli, cpus * 1000, memory_bytes, GpuType(kind))


@pytest.mark.parametrize(
    ("shape", "node", "unusable"),
    [
        (ONE, free(1000, 1000, 0), 0),
        (FOUR, free(1000, 1000, 1000, 0), 3000),
        (FOUR, free(1000, 1000, 1000, 1000), 0),
        (ONE, free(1000, 600, 0), 600),
        (HALF, free(1000, 600, 400), 400),
        (HALF, free(400, 300), 700),
        (Shape(1000, 8000, 0, ()), free(1000, 1000, cpus=4), 2000),
        (Shape(1000, 0, 10, ()), free(1000, memory_bytes=9), 1000),
        (Shape(1000, 0, 0, (GpuType("a100"),)), free(1000), 1000),
    ],
)
def test_what_a_worker_cannot_use_on_a_node(shape: Shape, node: FreeNode, unusable: int) -> None:
    assert unusable_milli(shape, node) == unusable


def test_fragments_are_expected_over_the_jobs_of_the_trace() -> None:
    mix = JobMix([a_job(gpus=1), a_job(gpus=1), a_job(gpus=1), a_job(gpus=4), a_job(gpus=0)])
    assert mix.fragments(free(1000, 1000, 0, 0)) == 500


def test_samples_tell_what_is_used_and_what_waits() -> None:
    jobs = [a_trace_job("a", 0, 100, gpus=6), a_trace_job("b", 10, 50, gpus=4)]
    made = replayed(jobs)
    seen = [
        (sample.at_ms // S, sample.used_milli, sample.waiting_jobs, sample.waiting_milli) for sample in made.samples
    ]
    assert seen == [(0, 6000, 0, 0), (10, 6000, 1, 4000), (100, 4000, 0, 0), (150, 0, 0, 0)]
    # While a runs, 2 GPUs are left, which are of no use to either; on an empty node there is room for both.
    assert [sample.fragmentation for sample in made.samples] == [1.0, 1.0, 0.5 * 4000 / 4000, 0.0]


def test_a_job_that_was_refused_does_not_wait() -> None:
    made = replayed([a_trace_job("a", 0, 100), a_trace_job("big", 50, 100, gpus=100)])
    assert [sample.at_ms // S for sample in made.samples] == [0, 100]


def test_nodes_that_are_down_are_not_usable() -> None:
    jobs = [a_trace_job(f"j{place}", place * 600, 600, gpus=1) for place in range(50)]
    made = replayed(jobs, "4x8", faults=FaultRates(mtbf=2 * HOUR_MS, repair=HOUR_MS))
    usable = {sample.usable_milli for sample in made.samples}
    assert usable <= {0, 8_000, 16_000, 24_000, 32_000}
    assert len(usable) > 1


def test_failures_and_repairs_between_two_changes_of_jobs_are_seen() -> None:
    rates = FaultRates(mtbf=10 * HOUR_MS, repair=2 * HOUR_MS)
    made = replayed([a_trace_job("a", 0, 5 * 24 * 3600)], "4x8", faults=rates)
    usable = [sample.usable_milli for sample in made.samples]
    assert len(usable) > 2 * len(made.outcomes[0].stints) + 20
    assert sum(now != then for now, then in pairwise(usable)) > 20


def test_the_moment_with_the_fewest_gpus_is_never_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def worst() -> tuple[int, int]:
        jobs = [a_trace_job(f"j{place}", place * 600, 600) for place in range(50)]
        samples = replayed(jobs, "9x8", faults=FaultRates(mtbf=4 * HOUR_MS, repair=HOUR_MS)).samples
        return len(samples), min(sample.usable_milli for sample in samples)

    many, least = worst()
    monkeypatch.setattr(timeline_module, "SAMPLES", 4)
    assert worst() == (4, least)
    assert many > 50


def test_there_are_never_too_many_samples_and_the_last_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_module, "SAMPLES", 10)
    made = replayed([a_trace_job(f"j{place}", place * 10, 5) for place in range(50)])
    assert len(made.samples) == 10
    assert [made.samples[0].at_ms // S, made.samples[-1].at_ms // S] == [0, 495]


def test_cpus_that_are_gone_make_gpus_fragments() -> None:
    cluster = a_cluster(a_node("n1", gpus=8, cpus=16))
    made = replayed([a_trace_job("a", 0, 100, gpus=1, cpu_milli=12_000)], cluster)
    assert made.samples[0].fragmentation == 1.0
