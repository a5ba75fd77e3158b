from muster.core.order.run_times import ENOUGH, RunTimes, UsualRun
from muster.model.limits import RUN_TIME_WINDOW
from tests.builders import a_job


def taught(*runs_ms: int) -> RunTimes:
    learnt = RunTimes()
    for run_ms in runs_ms:
        learnt.learn(a_job(), run_ms)
    return learnt


def middle_and_worst(learnt: RunTimes, *, ran_ms: int = 0) -> tuple[int | None, int | None]:
    p50_ms, p90_ms = (learnt.quantile_ms(a_job(), permille, ran_ms=ran_ms) for permille in (500, 900))
    return p50_ms, p90_ms


def test_nothing_is_expected_until_enough_like_it_have_ended() -> None:
    assert middle_and_worst(RunTimes()) == (None, None)
    assert middle_and_worst(taught(*range(1, ENOUGH))) == (None, None)
    assert None not in middle_and_worst(taught(*range(1, ENOUGH + 1)))


def test_quantiles_are_of_those_that_ran_longer() -> None:
    learnt = taught(*range(10, 110, 10))
    assert middle_and_worst(learnt) == (50, 90)
    assert middle_and_worst(learnt, ran_ms=20) == (60 - 20, 100 - 20)
    assert middle_and_worst(learnt, ran_ms=50) == (None, None)


def test_old_habits_are_forgotten() -> None:
    learnt = taught(*[1_000] * RUN_TIME_WINDOW, *[10] * RUN_TIME_WINDOW)
    assert middle_and_worst(learnt) == (10, 10)


def test_what_is_usual_is_known_from_the_first_run_and_from_the_jobs_that_are_most_alike() -> None:
    learnt, spec = RunTimes(), a_job(name="train")
    assert learnt.usual(spec) == UsualRun(runs=0, median_ms=0)
    learnt.learn(a_job(name="other", gpus=4), 100)
    assert learnt.usual(spec) == UsualRun(runs=1, median_ms=100)
    for _ in range(ENOUGH):
        learnt.learn(spec, 7)
    assert learnt.usual(spec) == UsualRun(runs=ENOUGH, median_ms=7)
