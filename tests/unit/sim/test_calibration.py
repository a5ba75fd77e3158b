from muster.estimates.calibration import APART_MS, ENOUGH, MILLI_MAX, WINDOW, Calibration, depth_step
from muster.estimates.starts import StartEstimate
from muster.model.policy import HOUR_MS, MINUTE_MS

MADE_MS = 7 * HOUR_MS


def an_estimate(p50_min: int, p90_min: int) -> StartEstimate:
    return StartEstimate(p50_ms=MADE_MS + p50_min * MINUTE_MS, p90_ms=MADE_MS + p90_min * MINUTE_MS)


def learn(
    calibration: Calibration, waits_min: list[int], raw: StartEstimate, *, waiting: int = 50, apart_ms: int = APART_MS
) -> None:
    assert raw.p50_ms is not None
    assert raw.p90_ms is not None
    for place, wait_min in enumerate(waits_min):
        later_ms = place * apart_ms
        made_ms = MADE_MS + later_ms
        moved = StartEstimate(p50_ms=raw.p50_ms + later_ms, p90_ms=raw.p90_ms + later_ms)
        calibration.learn(moved, waiting=waiting, made_ms=made_ms, started_ms=made_ms + wait_min * MINUTE_MS)


def corrected(calibration: Calibration, raw: StartEstimate, *, waiting: int = 50) -> StartEstimate:
    return calibration.correct(raw, waiting=waiting, now_ms=MADE_MS)


def test_without_enough_history_estimates_stay_as_they_are() -> None:
    calibration = Calibration()
    learn(calibration, [60] * (ENOUGH - 1), an_estimate(10, 20))
    assert corrected(calibration, an_estimate(10, 20)) == an_estimate(10, 20)


def test_waits_that_were_twice_as_long_double_the_next_estimate() -> None:
    calibration = Calibration()
    learn(calibration, [40] * ENOUGH, an_estimate(20, 20))
    assert corrected(calibration, an_estimate(5, 10)) == an_estimate(10, 20)


def test_estimates_that_were_too_late_come_closer() -> None:
    calibration = Calibration()
    learn(calibration, [10] * ENOUGH, an_estimate(20, 40))
    assert corrected(calibration, an_estimate(20, 40)) == an_estimate(10, 10)


def test_each_quantile_is_stretched_to_cover_its_share() -> None:
    calibration = Calibration()
    learn(calibration, list(range(1, 100)), an_estimate(50, 50))
    assert corrected(calibration, an_estimate(50, 50)) == an_estimate(50, 90)


def test_depths_have_histories_of_their_own_once_they_know_enough() -> None:
    calibration = Calibration()
    learn(calibration, [40] * ENOUGH, an_estimate(20, 20), waiting=50)
    assert corrected(calibration, an_estimate(20, 20), waiting=500) == an_estimate(40, 40)
    learn(calibration, [10] * ENOUGH, an_estimate(20, 20), waiting=500)
    assert corrected(calibration, an_estimate(20, 20), waiting=500) == an_estimate(10, 10)
    assert corrected(calibration, an_estimate(20, 20), waiting=50) == an_estimate(40, 40)


def test_old_history_is_forgotten() -> None:
    calibration = Calibration()
    learn(calibration, [80] * WINDOW + [10] * WINDOW, an_estimate(20, 20))
    assert corrected(calibration, an_estimate(20, 20)) == an_estimate(10, 10)


def test_no_correction_exceeds_its_bounds() -> None:
    calibration = Calibration()
    learn(calibration, [10_000] * ENOUGH, an_estimate(1, 1))
    assert corrected(calibration, an_estimate(3, 3)) == an_estimate(3 * MILLI_MAX // 1000, 3 * MILLI_MAX // 1000)


def test_a_start_at_once_and_one_beyond_the_horizon_are_left_alone() -> None:
    calibration = Calibration()
    learn(calibration, [40] * ENOUGH, an_estimate(20, 20))
    at_once, beyond = an_estimate(0, 0), StartEstimate(p50_ms=None, p90_ms=None)
    assert corrected(calibration, at_once) == at_once
    assert corrected(calibration, beyond) == beyond


def test_starts_at_once_that_came_as_told_teach_nothing() -> None:
    calibration = Calibration()
    learn(calibration, [40] * ENOUGH, an_estimate(0, 0))
    assert corrected(calibration, an_estimate(10, 20)) == an_estimate(10, 20)


def test_the_likely_start_is_never_after_the_late_one() -> None:
    calibration = Calibration()
    learn(calibration, [30] * ENOUGH, an_estimate(10, 60))
    made = corrected(calibration, an_estimate(40, 50))
    assert made.p50_ms is not None
    assert made.p90_ms is not None
    assert made.p50_ms <= made.p90_ms


def test_queues_are_told_apart_at_ten_a_hundred_and_a_thousand() -> None:
    assert [depth_step(waiting) for waiting in (0, 9, 10, 99, 100, 999, 1000, 50_000)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_rush_of_many_jobs_that_wait_for_the_same_thing_counts_once() -> None:
    calibration = Calibration()
    learn(calibration, [1] * 10 * ENOUGH, an_estimate(20, 20), apart_ms=1000)
    assert corrected(calibration, an_estimate(20, 20)) == an_estimate(20, 20)
