from random import Random

import pytest

from muster.estimates.calibration import BURST_WORTH, MILLI_MAX, USUAL_WORTH, WINDOW, Calibration, OpenEstimate
from muster.estimates.starts import StartEstimate
from muster.model.policy import HOUR_MS, MINUTE_MS

MADE_MS = 7 * HOUR_MS
ENOUGH = 10 * USUAL_WORTH
"""After so many starts what is usual elsewhere is less than a tenth of what counts."""
APART_MS = 200 * HOUR_MS
"""Longer than any wait here, so that each estimate is made after the one before it came true."""


def an_estimate(p50_min: float, p90_min: float) -> StartEstimate:
    """An estimate such that p50 and p90 with the minute that is added to each are so far away."""
    p50_ms, p90_ms = (MADE_MS + round((each - 1) * MINUTE_MS) for each in (p50_min, p90_min))
    return StartEstimate(p50_ms=p50_ms, p90_ms=p90_ms)


def at_minutes(p50_min: int, p90_min: int) -> StartEstimate:
    """The corrected estimate that says these minutes."""
    return StartEstimate(p50_ms=MADE_MS + p50_min * MINUTE_MS, p90_ms=MADE_MS + p90_min * MINUTE_MS)


def learn(calibration: Calibration, waits_min: list[int], raw: StartEstimate) -> None:
    for place, wait_min in enumerate(waits_min):
        learn_one(calibration, place, wait_min, raw)


def learn_one(
    calibration: Calibration, place: int, wait_min: int, raw: StartEstimate, apart_ms: int = APART_MS
) -> None:
    assert raw.p50_ms is not None
    assert raw.p90_ms is not None
    later_ms = place * apart_ms
    made_ms = MADE_MS + later_ms
    moved = StartEstimate(p50_ms=raw.p50_ms + later_ms, p90_ms=raw.p90_ms + later_ms)
    calibration.learn(moved, made_ms=made_ms, started_ms=made_ms + wait_min * MINUTE_MS)


def corrected(calibration: Calibration, raw: StartEstimate, *still_open: OpenEstimate) -> StartEstimate:
    return calibration.correct(raw, now_ms=MADE_MS, still_open=still_open)


def minutes(at_ms: int | None) -> float:
    assert at_ms is not None
    return (at_ms - MADE_MS) / MINUTE_MS


def test_without_a_history_what_is_usual_elsewhere_stands_for_it() -> None:
    told = corrected(Calibration(), an_estimate(10, 20))
    assert 5 <= minutes(told.p50_ms) <= 10
    assert 25 <= minutes(told.p90_ms) <= 60


def test_from_the_first_start_on_the_cluster_s_own_history_counts() -> None:
    calibration, waits = Calibration(), [minutes(corrected(Calibration(), an_estimate(20, 20)).p90_ms)]
    for place in range(ENOUGH):
        learn_one(calibration, place, 20, an_estimate(20, 20))
        waits.append(minutes(corrected(calibration, an_estimate(20, 20)).p90_ms))
    assert waits == sorted(waits, reverse=True)
    assert waits[USUAL_WORTH] < waits[0]
    assert waits[-1] == 20


def test_waits_that_were_twice_as_long_double_the_next_estimate() -> None:
    calibration = Calibration()
    learn(calibration, [40] * ENOUGH, an_estimate(20, 20))
    assert corrected(calibration, an_estimate(5, 10)) == at_minutes(10, 20)


def test_estimates_that_were_too_late_come_closer() -> None:
    calibration = Calibration()
    learn(calibration, [20] * ENOUGH, an_estimate(20, 40))
    assert corrected(calibration, an_estimate(20, 40)) == at_minutes(20, 20)


def test_each_quantile_is_stretched_to_cover_its_share() -> None:
    calibration, waits_min = Calibration(), list(range(1, 100))
    Random(1).shuffle(waits_min)
    learn(calibration, waits_min, an_estimate(50, 50))
    told = corrected(calibration, an_estimate(50, 50))
    assert 45 <= minutes(told.p50_ms) <= 55
    assert 85 <= minutes(told.p90_ms) <= 95


@pytest.mark.parametrize("trend", [1.0, 1.006, 0.994])
def test_nine_in_ten_are_covered_also_while_waits_get_longer_or_shorter(trend: float) -> None:
    """Without the quantile being learnt, too few were covered while waits got longer, and too many while shorter."""
    calibration, chance, covered = Calibration(), Random(7), 0
    raw = an_estimate(50, 50)
    for number in range(400):
        wait_min = max(round(40 * chance.lognormvariate(0, 0.8) * trend**number), 1)
        covered += wait_min <= minutes(corrected(calibration, raw).p90_ms)
        learn_one(calibration, number, wait_min, raw)
    assert 0.87 <= covered / 400 <= 0.94


def test_a_burst_teaches_less_than_as_many_starts_one_after_another() -> None:
    """A burst that started early does not shorten what the next burst is told by as much as many bursts do."""
    one_burst, many, none = Calibration(), Calibration(), Calibration()
    for place in range(ENOUGH):
        learn_one(one_burst, place, 10, an_estimate(50, 50), apart_ms=0)
        learn_one(many, place, 10, an_estimate(50, 50))
    told = [minutes(corrected(each, an_estimate(50, 50)).p90_ms) for each in (many, one_burst, none)]
    assert told[0] == 10
    assert 0.8 * told[2] < told[1] < told[2]


def test_each_start_of_a_burst_counts_fully_for_the_median() -> None:
    calibration = Calibration()
    for place in range(ENOUGH):
        learn_one(calibration, place, 10, an_estimate(50, 50), apart_ms=0)
    assert minutes(corrected(calibration, an_estimate(50, 50)).p50_ms) == 10


def test_bursts_that_come_again_and_again_are_learnt_from() -> None:
    calibration = Calibration()
    for place in range(10 * USUAL_WORTH):
        for _ in range(3 * BURST_WORTH):
            learn_one(calibration, place, 10, an_estimate(50, 50))
    assert minutes(corrected(calibration, an_estimate(50, 50)).p90_ms) == 10


def test_one_start_that_went_wrong_does_not_decide_alone() -> None:
    wrong = Calibration()
    learn(wrong, [5_000], an_estimate(50, 50))
    assert minutes(corrected(wrong, an_estimate(50, 50)).p90_ms) <= 3 * 50
    learn(wrong, [50] * ENOUGH, an_estimate(50, 50))
    learn(wrong, [5_000], an_estimate(50, 50))
    assert minutes(corrected(wrong, an_estimate(50, 50)).p90_ms) == 50


def test_old_history_is_forgotten() -> None:
    calibration = Calibration()
    learn(calibration, [80] * WINDOW + [20] * WINDOW, an_estimate(20, 20))
    assert corrected(calibration, an_estimate(20, 20)) == at_minutes(20, 20)


def test_no_correction_exceeds_its_bounds() -> None:
    calibration = Calibration()
    learn(calibration, [10_000] * ENOUGH, an_estimate(2, 2))
    assert corrected(calibration, an_estimate(3, 3)) == at_minutes(3 * MILLI_MAX // 1000, 3 * MILLI_MAX // 1000)


def test_what_likely_starts_at_once_and_what_lies_beyond_the_horizon_stay_so() -> None:
    calibration = Calibration()
    learn(calibration, [40] * ENOUGH, an_estimate(20, 20))
    beyond = StartEstimate(p50_ms=None, p90_ms=None)
    assert corrected(calibration, beyond) == beyond
    assert corrected(calibration, an_estimate(1, 1)) == at_minutes(0, 2)


def test_the_later_estimate_is_about_jobs_that_wait_and_learns_from_them() -> None:
    calibration = Calibration()
    learn(calibration, [40] * ENOUGH + [0] * ENOUGH, an_estimate(20, 20))
    assert minutes(corrected(calibration, an_estimate(20, 20)).p90_ms) == 40


def test_jobs_that_wait_beyond_their_estimate_count_before_they_start() -> None:
    calibration = Calibration()
    learn(calibration, [20, 20, 20, 20, 60], an_estimate(20, 20))
    made_ms = MADE_MS - 100 * MINUTE_MS
    late = OpenEstimate(StartEstimate(p50_ms=made_ms, p90_ms=made_ms + 19 * MINUTE_MS), made_ms)
    unknown = OpenEstimate(StartEstimate(p50_ms=None, p90_ms=None), made_ms)
    before = minutes(corrected(calibration, an_estimate(20, 20)).p90_ms)
    assert before < 60
    assert minutes(corrected(calibration, an_estimate(20, 20), *[late] * 20, unknown).p90_ms) == 100
    assert minutes(corrected(calibration, an_estimate(20, 20), late._replace(made_ms=MADE_MS)).p90_ms) == before


def test_the_likely_start_is_never_after_the_late_one() -> None:
    calibration = Calibration()
    learn(calibration, [30] * ENOUGH, an_estimate(10, 60))
    made = corrected(calibration, an_estimate(40, 50))
    assert minutes(made.p50_ms) <= minutes(made.p90_ms)


def test_the_time_before_which_a_job_cannot_start_is_certain_and_only_the_rest_is_corrected() -> None:
    """Starts that came true early teach that waits are shorter than estimated, and not that such a time is."""
    calibration = Calibration()
    learn(calibration, [1] * ENOUGH, an_estimate(20, 20))
    begins_ms = MADE_MS + 120 * MINUTE_MS
    raw = StartEstimate(p50_ms=begins_ms, p90_ms=begins_ms)
    assert minutes(calibration.correct(raw, now_ms=MADE_MS).p50_ms) < 60
    told = calibration.correct(raw, now_ms=MADE_MS, earliest_ms=begins_ms)
    assert minutes(told.p50_ms) == 120
    assert 120 <= minutes(told.p90_ms) <= 121
    too_soon = StartEstimate(p50_ms=MADE_MS, p90_ms=begins_ms + 40 * MINUTE_MS)
    told = calibration.correct(too_soon, now_ms=MADE_MS, earliest_ms=begins_ms)
    assert minutes(told.p50_ms) == 120
    assert 120 < minutes(told.p90_ms) < 160


def test_jobs_that_cannot_have_started_yet_are_not_overdue() -> None:
    later_ms = MADE_MS + 600 * MINUTE_MS
    waiting = OpenEstimate(StartEstimate(p50_ms=later_ms, p90_ms=later_ms), later_ms)
    assert corrected(Calibration(), an_estimate(10, 20), *[waiting] * 50) == corrected(
        Calibration(), an_estimate(10, 20)
    )
