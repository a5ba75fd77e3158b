from muster.core.order.run_times import ENOUGH, RunTimes
from muster.model.policy import HOUR_MS
from tests.builders import a_job


def learnt(*hours: int, gpus: int = 1) -> RunTimes:
    made = RunTimes()
    for each in hours:
        made.learn(a_job(gpus=gpus), each * HOUR_MS)
    return made


def test_quantiles_are_those_of_the_jobs_that_were_seen() -> None:
    found = [learnt(*range(1, 11)).quantile_ms(a_job(), permille) for permille in (1, 100, 101, 500, 900, 1000)]
    assert found == [hours * HOUR_MS for hours in (1, 1, 2, 5, 9, 10)]


def test_a_job_that_has_run_already_is_compared_with_those_that_ran_longer() -> None:
    known = learnt(*[1] * 100, *range(11, 21))
    assert known.quantile_ms(a_job(), 500, ran_ms=10 * HOUR_MS) == 5 * HOUR_MS


def test_where_too_few_are_alike_all_jobs_are_asked() -> None:
    known = learnt(*[3] * ENOUGH, gpus=1)
    assert known.quantile_ms(a_job(gpus=4), 500) == 3 * HOUR_MS


def test_nothing_is_said_while_too_little_is_known() -> None:
    assert learnt(*[3] * (ENOUGH - 1)).quantile_ms(a_job(), 500) is None
    assert learnt(*[3] * ENOUGH).quantile_ms(a_job(), 500) == 3 * HOUR_MS
    assert learnt(*[3] * ENOUGH).quantile_ms(a_job(), 500, ran_ms=3 * HOUR_MS) is None
