from muster.core.run_times import ENOUGH, RunTimes
from muster.model.limits import RUN_TIME_WINDOW, TURN_ENDINGS, TURN_MAX_MS, TURN_MIN_MS
from tests.builders import a_job


def taught(*runs_ms: int) -> RunTimes:
    learnt = RunTimes()
    for run_ms in runs_ms:
        learnt.learn(a_job(), run_ms)
    return learnt


def test_nothing_is_expected_until_enough_like_it_have_ended() -> None:
    assert RunTimes().expect(a_job()) is None
    assert taught(*range(1, ENOUGH)).expect(a_job()) is None
    assert taught(*range(1, ENOUGH + 1)).expect(a_job()) is not None


def test_quantiles_are_of_those_that_ran_longer() -> None:
    learnt = taught(*range(10, 110, 10))
    assert learnt.expect(a_job()) == (50, 90)
    assert learnt.expect(a_job(), ran_ms=20) == (60 - 20, 100 - 20)
    assert learnt.expect(a_job(), ran_ms=50) is None


def test_old_habits_are_forgotten() -> None:
    assert taught(*[1_000] * RUN_TIME_WINDOW, *[10] * RUN_TIME_WINDOW).expect(a_job()) == (10, 10)


def test_a_turn_is_what_most_jobs_run_within_bounds() -> None:
    assert RunTimes().turn_ms() is None
    assert taught(10).turn_ms() == TURN_MAX_MS
    assert taught(*[10] * TURN_ENDINGS).turn_ms() == TURN_MIN_MS
    assert taught(*[TURN_MIN_MS * 3] * TURN_ENDINGS).turn_ms() == TURN_MIN_MS * 3
    assert taught(*[TURN_MAX_MS * 30] * TURN_ENDINGS).turn_ms() == TURN_MAX_MS
