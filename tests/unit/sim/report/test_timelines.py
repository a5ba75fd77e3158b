import pytest

from muster.sim.outcome import Sample
from muster.sim.report.figures.busiest_day import Window, busiest_day
from muster.sim.report.sections.timelines import FINE_STEPS, steps
from tests.unit.sim.report.made_up import HOUR_MS, a_replay, a_trace_job, an_outcome, replay_of, samples


def a_sample(at_ms: int, *, used: int = 0, usable: int = 8_000, waiting: int = 0) -> Sample:
    return Sample(
        at_ms=at_ms,
        used_milli=used,
        usable_milli=usable,
        waiting_jobs=waiting,
        waiting_milli=1_000 * waiting,
        fragmentation=0.0,
    )


def test_a_step_has_the_mean_in_use_and_the_least_usable() -> None:
    found = list(steps([a_sample(0, used=1_000), a_sample(30, used=3_000, usable=0), a_sample(40), a_sample(200)], 100))
    assert [(each.at_ms, each.used_milli, each.usable_milli) for each in found] == [(0, 600, 0), (100, 0, 8_000)]


def test_a_short_last_step_counts_for_its_own_length() -> None:
    (first, last) = steps([a_sample(0, waiting=4), a_sample(150)], 100)
    assert (first.waiting_jobs, last.waiting_jobs) == (4, 4)


def test_no_time_has_no_steps() -> None:
    assert [*steps([], 100), *steps([a_sample(0)], 100)] == []


def test_steps_keep_the_gpu_time_in_use() -> None:
    replay = a_replay("fifo", jobs=200)
    step_ms = HOUR_MS
    end_ms = replay.samples[-1].at_ms
    lengths = [min(step_ms, end_ms - each.at_ms) for each in steps(replay.samples, step_ms)]
    kept = sum(e.used_milli * length for e, length in zip(steps(replay.samples, step_ms), lengths, strict=True))
    exact = sum(
        each.used_milli * (after.at_ms - each.at_ms)
        for each, after in zip(replay.samples, replay.samples[1:], strict=False)
    )
    assert kept == pytest.approx(exact)
    assert len(lengths) <= FINE_STEPS


def test_the_busiest_day_is_the_one_with_most_gpu_time_waiting() -> None:
    waits = [an_outcome(a_trace_job(0, submit_ms=0), wait_ms=HOUR_MS)]
    waits.append(an_outcome(a_trace_job(1, gpus=8, submit_ms=50 * HOUR_MS), wait_ms=20 * HOUR_MS))
    window = busiest_day([replay_of(waits)])
    assert window.start_ms <= 50 * HOUR_MS
    assert window.end_ms >= 70 * HOUR_MS
    assert window.end_ms - window.start_ms == 24 * HOUR_MS


def test_where_no_job_waits_the_first_day_is_shown() -> None:
    assert busiest_day([replay_of([])]) == Window(start_ms=0, end_ms=24 * HOUR_MS)
    assert busiest_day([replay_of([an_outcome(a_trace_job())])]).start_ms == 0


def test_made_up_samples_end_with_an_empty_cluster() -> None:
    assert samples([an_outcome(a_trace_job(), wait_ms=5)], 8_000)[-1].used_milli == 0
