from collections.abc import Sequence
from itertools import islice, pairwise
from statistics import mean

from muster.core.order.run_times import RunTimes
from muster.estimates.sampling import Arrival, FutureSample
from muster.estimates.survival import RunHistory
from muster.model.policy import HOUR_MS, MINUTE_MS
from tests.builders import NOW_MS, a_job

SPEC = a_job(gpus=1, hours=50)


def learnt(*hours: int) -> RunTimes:
    made = RunTimes()
    for each in hours:
        made.learn(SPEC, each * HOUR_MS)
    return made


def draws(run_times: RunTimes, *, ran_hours: int = 0, count: int = 1000, begun: Sequence[int] = ()) -> list[float]:
    """One draw of each of so many futures; jobs that still run have run for `begun` hours."""
    history = RunHistory(run_times, [(SPEC, hours * HOUR_MS) for hours in begun])
    return [
        FutureSample(history, f"future {number}").left_ms(SPEC, ran_hours * HOUR_MS) / HOUR_MS
        for number in range(count)
    ]


def test_draws_are_run_times_that_were_seen_as_often_as_they_were() -> None:
    found = draws(learnt(*range(1, 11)))
    assert set(found) == set(range(1, 11))
    assert 5 < mean(found) < 6


def test_a_job_that_has_run_for_long_runs_as_much_longer_as_those_that_ran_longer_still() -> None:
    found = draws(learnt(*[1] * 50, *range(11, 21)), ran_hours=10)
    assert set(found) == set(range(1, 11))


def test_what_is_left_of_a_job_that_outlasted_all_others_is_uncertain() -> None:
    found = sorted(draws(learnt(*range(1, 11)), ran_hours=20))
    assert 15 < found[500] < 25
    assert 130 < found[900] < 230


def test_jobs_that_still_run_count_as_longer_than_they_have_run_so_far() -> None:
    short = [1] * 10
    assert max(draws(learnt(*short))) == 1
    found = sorted(draws(learnt(*short), begun=[2] * 30))
    assert 200 < found.count(1) < 300
    assert found[500] > 2


def test_what_nobody_knows_is_the_same_for_all_jobs_of_a_future() -> None:
    def spread(*ended_hours: int) -> float:
        """How much later than in the middle one a long queue is served in the ninth of ten futures."""
        history = RunHistory(learnt(*ended_hours))
        samples = [FutureSample(history, str(seed)) for seed in range(101)]
        queues = sorted(sum(sample.left_ms(SPEC, 0) for _ in range(50)) for sample in samples)
        return queues[90] / queues[50]

    assert spread() > 2 * spread(*[1] * 7)


def test_many_that_run_and_few_that_ended_make_long_run_times_likely() -> None:
    few = [1, 1, 1]
    assert sorted(draws(learnt(*few), begun=[1] * 40))[500] > 3 * sorted(draws(learnt(*few)))[500]


def test_samples_for_jobs_of_a_kind_are_alike_to_some_degree() -> None:
    run_times = learnt(*range(1, 101))
    pairs = [
        (sample.left_ms(SPEC, 0), sample.left_ms(SPEC, 0))
        for sample in (FutureSample(RunHistory(run_times), str(n)) for n in range(500))
    ]
    middle = 50 * HOUR_MS
    agreeing = sum((one > middle) == (other > middle) for one, other in pairs)
    assert 0.58 < agreeing / len(pairs) < 0.75


def test_recent_jobs_come_again_in_the_same_order_and_at_the_same_pace() -> None:
    specs = [a_job(name, hours=50) for name in ("a", "b", "c", "d")]
    recent = [Arrival(submitted_ms=NOW_MS - (4 - at) * HOUR_MS, spec=spec) for at, spec in enumerate(specs)]
    found = list(islice(FutureSample(RunHistory(RunTimes()), "x").newcomers(recent, NOW_MS), 9))
    first = specs.index(found[0].spec)
    assert [job.spec.name for job in found] == ["abcd"[(first + n) % 4] for n in range(9)]
    gaps = {later.submitted_ms - job.submitted_ms for job, later in pairwise(found)}
    assert gaps == {HOUR_MS}
    assert NOW_MS <= found[0].submitted_ms < NOW_MS + HOUR_MS
    assert len({job.id for job in found}) == 9


def test_no_job_comes_where_none_came() -> None:
    assert list(FutureSample(RunHistory(RunTimes()), "x").newcomers((), NOW_MS)) == []
    recent = [Arrival(submitted_ms=NOW_MS - at * HOUR_MS, spec=a_job(hours=1)) for at in (2, 1)]
    assert len(list(islice(FutureSample(RunHistory(RunTimes()), "x").newcomers(recent, NOW_MS), 3))) == 3


def test_an_hour_is_assumed_while_nothing_is_known_and_counts_as_one_run_afterwards() -> None:
    def medians_ms(runs: int) -> int:
        learnt = RunTimes()
        for _ in range(runs):
            learnt.learn(SPEC, 8_000)
        history = RunHistory(learnt)
        drawn = sorted(FutureSample(history, str(seed)).left_ms(SPEC, 10_000) for seed in range(301))
        return drawn[150]

    assert medians_ms(0) > 30 * MINUTE_MS
    assert medians_ms(1) < 10 * MINUTE_MS
    assert medians_ms(50) < MINUTE_MS
