"""How long steps take: percentiles over the last minutes."""

from muster.core.stragglers.step_times import REPORTS, WINDOW_MS, StepPercentiles, StepTimes


def test_there_are_no_percentiles_before_the_first_step() -> None:
    assert StepTimes().percentiles() is None


def test_percentiles_of_single_steps_are_those_of_all_steps() -> None:
    times = StepTimes()
    for number in range(1, 101):
        times.note(number, 1, number * 1_000, number * 1_000)
    assert times.percentiles() == StepPercentiles(p50_us=50_000, p99_us=99_000)


def test_the_slowest_steps_of_a_report_are_the_tail() -> None:
    times = StepTimes()
    for number in range(10):
        times.note(number, 50, 100_000, 900_000)
    assert times.percentiles() == StepPercentiles(p50_us=100_000, p99_us=900_000)


def test_old_steps_are_forgotten() -> None:
    times = StepTimes()
    times.note(0, 10, 500_000, 500_000)
    for number in range(REPORTS + 10):
        times.note(WINDOW_MS + 1 + number, 1, 100_000, 100_000)
    assert times.percentiles() == StepPercentiles(p50_us=100_000, p99_us=100_000)
