import pytest

from muster.model.ids import GpuType, TeamPath
from muster.model.job import JobState
from muster.model.records import evolve
from muster.sim.fairness import fairness, rhos
from tests.unit.sim.builders import a_replay, a_trace_job, an_outcome


def test_a_job_alone_that_starts_at_once_has_a_rho_of_one() -> None:
    outcome = an_outcome(a_trace_job("a", 0, 100, gpus=8), 0, 100)
    assert rhos(a_replay(outcome)) == [1.0]
    assert fairness(a_replay(outcome)).unfair_fraction == 0


def test_the_share_is_the_average_over_the_life_of_the_job() -> None:
    # b waits for a: alone on 4 of 8 GPUs for 100 s, then on all 8 for another 100 s, it is due 6 on average.
    first = an_outcome(a_trace_job("a", 0, 100, gpus=8), 0, 100)
    second = an_outcome(a_trace_job("b", 0, 100, gpus=8), 100, 200)
    assert rhos(a_replay(first, second)) == pytest.approx([100 / (100 * 8 / 4), 200 / (100 * 8 / 6)])
    found = fairness(a_replay(first, second))
    assert found.worst == pytest.approx(1.5)
    assert found.unfair_fraction == 0.5


def test_a_small_job_is_never_due_less_than_its_run_time() -> None:
    outcomes = [an_outcome(a_trace_job(f"j{place}", 0, 100, gpus=1), 50, 150) for place in range(4)]
    assert rhos(a_replay(*outcomes)) == [1.5] * 4


def test_teams_share_by_weight_and_their_jobs_among_themselves() -> None:
    # The heavy team is due 6 of 8 GPUs for its one job, the light one 2 for two jobs, until all end together.
    heavy = an_outcome(a_trace_job("a", 0, 100, gpus=8, team="heavy"), 0, 100)
    light = [an_outcome(a_trace_job(name, 0, 100, gpus=4, team="light"), 0, 100) for name in ("b", "c")]
    weights = {TeamPath("heavy"): 3000, TeamPath("light"): 1000}
    assert rhos(a_replay(heavy, *light), weights) == pytest.approx([1 / (8 / 6), 1 / 4, 1 / 4])


def test_a_team_that_comes_and_goes_counts_only_while_it_has_jobs() -> None:
    # 100 s alone on 8 GPUs, 100 s with the other team on 4, and 100 s alone again: 20/3 on average.
    long = an_outcome(a_trace_job("a", 0, 300, gpus=8, team="one"), 0, 300)
    short = an_outcome(a_trace_job("b", 100, 100, gpus=2, team="two"), 100, 200)
    assert rhos(a_replay(long, short), {}) == pytest.approx([1 / (8 / (20 / 3)), 1.0])


def test_only_jobs_that_finished_have_a_rho_and_the_others_count_while_they_are_there() -> None:
    done = an_outcome(a_trace_job("a", 0, 100, gpus=8), 0, 100)
    cancelled = an_outcome(a_trace_job("b", 0, 100, gpus=8), None, 100, state=JobState.CANCELLED)
    waiting = an_outcome(a_trace_job("c", 0, 100, gpus=8), None, None, state=JobState.QUEUED)
    rejected = an_outcome(a_trace_job("d", 0, 100, gpus=8), None, None, state=JobState.FAILED)
    assert rhos(a_replay(done, cancelled, waiting, rejected)) == pytest.approx([1 / 3])
    assert fairness(a_replay(waiting)).worst == 0


def test_a_job_without_work_is_fair_if_it_did_not_wait() -> None:
    at_once = an_outcome(a_trace_job("a", 5, 0), 5, 5)
    assert rhos(a_replay(at_once)) == [0.0]


def test_where_types_differ_the_share_is_one_of_every_type() -> None:
    # Half of all GPUs are four times as slow: alone on its share the job would run at 5/8 of the speed.
    slow = (GpuType("slow"), 400_000)
    job = evolve(a_trace_job("a", 0, 100, gpus=8), run_ms_by_type=(slow,))
    types = ((GpuType("fast"), 4), (GpuType("slow"), 4))
    assert rhos(a_replay(an_outcome(job, 0, 160), gpus_by_type=types)) == pytest.approx([1.0])
    picky = evolve(job, gpu_types=(GpuType("slow"),))
    assert rhos(a_replay(an_outcome(picky, 0, 400), gpus_by_type=types)) == pytest.approx([1.0])


def test_sub_teams_share_what_their_team_is_due() -> None:
    # Half of 8 GPUs each for nlp and cv; of nlp's four, three for its sub-team of three times the weight.
    teams = ("nlp/eval", "nlp", "cv")
    weights = {TeamPath("nlp"): 1000, TeamPath("nlp/eval"): 3000, TeamPath("cv"): 1000}
    outcomes = [an_outcome(a_trace_job(team, 0, 100, gpus=8, team=team), 0, 100) for team in teams]
    assert rhos(a_replay(*outcomes), weights) == pytest.approx([3 / 8, 1 / 8, 4 / 8])
