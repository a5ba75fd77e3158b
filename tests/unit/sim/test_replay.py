"""Tiny traces whose outcome can be worked out by hand."""

import pytest

from muster.estimates.training import Habits
from muster.model.errors import InvalidInput, InvariantViolated
from muster.model.ids import GpuType, PoolName, TierName
from muster.model.job import JobState
from muster.model.node import NodeState
from muster.model.plan import Plan
from muster.model.policy import HOUR_MS, Policy, Pool
from muster.policies import NamedPolicy, find_policy
from muster.sim import run as run_module
from muster.sim.faults import FaultRates
from muster.sim.measures import measures
from muster.sim.replay import Circumstances, replay
from tests.builders import a_cluster, a_node, a_team, flat
from tests.unit.sim.builders import S, a_trace, a_trace_job, ends_s, replayed


def test_fifo_lets_no_job_overtake() -> None:
    jobs = [
        a_trace_job("a", 0, 100, gpus=6),
        a_trace_job("b", 10, 50, gpus=4),
        a_trace_job("c", 20, 5, gpus=2),
    ]
    assert ends_s(replayed(jobs)) == {"a": 100, "b": 150, "c": 105}


def test_greedy_starts_whatever_fits() -> None:
    jobs = [
        a_trace_job("a", 0, 100, gpus=6),
        a_trace_job("b", 10, 50, gpus=4),
        a_trace_job("c", 20, 5, gpus=2),
    ]
    assert ends_s(replayed(jobs, policy="greedy")) == {"a": 100, "b": 150, "c": 25}


def test_the_oracle_starts_the_shortest_first() -> None:
    jobs = [a_trace_job("a", 0, 100, gpus=8), a_trace_job("b", 1, 50, gpus=8), a_trace_job("c", 2, 10, gpus=8)]
    assert ends_s(replayed(jobs, policy="sjf-oracle")) == {"a": 100, "c": 110, "b": 160}


def test_the_same_moment_is_one_batch_in_the_order_of_ids() -> None:
    jobs = [a_trace_job("a", 0, 10, gpus=8), a_trace_job("b", 0, 20, gpus=8), a_trace_job("c", 0, 30, gpus=8)]
    made = replayed(jobs)
    assert ends_s(made) == {"a": 10, "b": 30, "c": 60}
    assert made.cycles == 3


def test_a_gang_larger_than_a_node_is_divided_evenly() -> None:
    made = replayed([a_trace_job("a", 0, 100, gpus=12)], "2x8")
    (stint,) = made.outcomes[0].stints
    assert (stint.gpu_milli, sorted(stint.nodes)) == (12_000, ["n1", "n2"])


def test_what_can_never_run_is_counted_and_said() -> None:
    jobs = [a_trace_job("a", 0, 100, gpus=1), a_trace_job("big", 1, 100, gpus=64)]
    made = replayed(jobs)
    rejected = made.outcomes[1]
    assert (rejected.state, rejected.first_start_ms, rejected.end_ms) == (JobState.FAILED, None, None)
    assert len(made.rejections) == 1
    assert "does not fit" in made.rejections[0]


def test_jobs_that_ask_for_nothing_are_counted_and_change_no_other_figure() -> None:
    jobs = [a_trace_job("a", 0, 100, gpus=8), a_trace_job("b", 10, 50, gpus=8)]
    nothing = [a_trace_job("n1", 0, 9000, gpus=0), a_trace_job("n2", 700, 1, gpus=0)]
    for policy in ("fifo", "muster", "las"):
        made = replayed([nothing[0], *jobs, nothing[1]], policy=policy)
        with_them, without = measures(made), measures(replayed(jobs, policy=policy))
        counted = ("jobs", "finished", "without_resources")
        assert [with_them.pop(name) for name in counted] == [4, 4, 2]
        assert [without.pop(name) for name in counted] == [2, 2, 0]
        assert {**with_them, "cpu_s": 0} == {**without, "cpu_s": 0}
        assert ends_s(made) == {"a": 100, "b": 150}


def test_a_trace_in_which_no_job_asks_for_anything_has_nothing_to_schedule() -> None:
    with pytest.raises(InvalidInput, match="no job of the trace tiny asks for GPUs, CPUs or memory"):
        replayed([a_trace_job("n", 0, 10, gpus=0)])


def test_a_job_of_zero_length_ends_as_soon_as_it_starts_and_is_counted() -> None:
    jobs = [a_trace_job("a", 0, 100, gpus=8), a_trace_job("zero", 10, 0.001, gpus=8), a_trace_job("b", 20, 5, gpus=8)]
    made = replayed(jobs)
    assert ends_s(made) == {"a": 100, "zero": 100.001, "b": 105.001}
    assert measures(made)["zero_length"] == 1


def test_a_job_that_kept_its_limit_in_the_source_finishes_and_so_does_one_that_overran_it() -> None:
    within = a_trace_job("a", 0, 51, max_duration_ms=100 * S)
    to_the_end = a_trace_job("b", 0, 3600, max_duration_ms=HOUR_MS)
    beyond = a_trace_job("c", 0, 3600, max_duration_ms=HOUR_MS // 2)
    assert ends_s(replayed([within, to_the_end, beyond])) == {"a": 51, "b": 3600, "c": 3600}
    begins_anew = replayed([within, to_the_end, beyond], can_resume=False)
    assert ends_s(begins_anew) == {"a": 51, "b": 3600, "c": 3600}


def test_saves_and_restarts_do_not_count_against_the_limit() -> None:
    low = a_trace_job("low", 0, 3600, gpus=8, tier=TierName("exploratory"), max_duration_ms=HOUR_MS)
    high = a_trace_job("high", 60, 600, gpus=8, tier=TierName("production"))
    habits = Habits(restart_cost_ms=900 * S, save_every_ms=300 * S, save_cost_ms=60 * S)
    made = replayed([low, high], policy="muster", habits=habits)
    assert [outcome.state for outcome in made.outcomes] == [JobState.SUCCEEDED, JobState.SUCCEEDED]


def test_a_job_without_a_limit_may_run_for_years_and_at_any_speed() -> None:
    days = 24 * 3600
    slow = a_cluster(a_node("n1", gpu_type="slow", gpus=8))
    jobs = [
        a_trace_job("long", 0, 400 * days),
        a_trace_job("slow", 0, 100 * days, run_ms_by_type=((GpuType("slow"), 800 * days * S),)),
    ]
    assert ends_s(replayed(jobs, slow)) == {"long": 400 * days, "slow": 800 * days}
    straggling = FaultRates(straggler=HOUR_MS, straggler_speed=0.1, straggler_time=1000 * 24 * HOUR_MS)
    made = replayed([a_trace_job("a", 0, 100 * days)], faults=straggling)
    assert made.outcomes[0].state is JobState.SUCCEEDED


def test_a_straggler_can_push_a_job_over_its_limit() -> None:
    straggling = FaultRates(straggler=HOUR_MS // 60, straggler_speed=0.1, straggler_time=100 * HOUR_MS)
    made = replayed([a_trace_job("a", 0, 3600, max_duration_ms=HOUR_MS)], faults=straggling)
    assert (made.outcomes[0].state, made.outcomes[0].end_ms) == (JobState.TIMED_OUT, HOUR_MS)


def test_time_at_a_fraction_of_the_speed_is_useful_to_that_fraction() -> None:
    straggling = FaultRates(straggler=HOUR_MS, straggler_speed=0.25, straggler_time=HOUR_MS)
    made = replayed([a_trace_job("a", 0, 100_000, gpus=8)], faults=straggling)
    found = measures(made)
    took_s = found["makespan_s"]
    assert took_s > 150_000
    assert found["goodput"] == found["effective_training_time"] == pytest.approx(100_000 / took_s, abs=1e-4)
    assert found["slowed_gpu_s"] == pytest.approx(8 * (took_s - 100_000), abs=1)
    assert found["lost_gpu_s"] == 0


def test_a_preempted_job_pays_for_its_restart() -> None:
    low = a_trace_job("low", 0, 3600, gpus=8, tier=TierName("exploratory"))
    high = a_trace_job("high", 1800, 600, gpus=8, tier=TierName("production"))
    made = replayed([low, high], policy="muster", habits=Habits(restart_cost_ms=30 * S))
    assert ends_s(made) == {"low": 3600 + 600 + 30, "high": 2400}
    first = made.outcomes[0]
    assert (first.preemptions, first.faults) == (1, 0)
    assert (first.useful_gpu_ms, first.lost_gpu_ms, first.saving_gpu_ms) == (8 * 3_600_000, 8 * 30_000, 0)
    assert [(stint.start_ms, stint.end_ms) for stint in first.stints] == [(0, 1_800_000), (2_400_000, 4_230_000)]


def test_speeds_by_type_decide_where_a_job_goes_unless_they_are_not_known() -> None:
    cluster = a_cluster(a_node("n1", gpu_type="fast", gpus=1), a_node("n2", gpu_type="slow", gpus=1))
    job = a_trace_job("a", 0, 100, run_ms_by_type=((GpuType("fast"), 50 * S), (GpuType("slow"), 200 * S)))
    assert ends_s(replayed([job], cluster, "muster")) == {"a": 50}


def test_lost_nodes_cost_a_restart_from_the_last_save() -> None:
    rates = FaultRates(mtbf=HOUR_MS, repair=HOUR_MS // 10)
    jobs = [a_trace_job(f"j{place}", place * 60, 3000, gpus=4) for place in range(12)]
    made = replayed(jobs, "2x8", faults=rates, habits=Habits(save_every_ms=300 * S, restart_cost_ms=30 * S))
    assert all(outcome.state is JobState.SUCCEEDED for outcome in made.outcomes)
    assert sum(outcome.faults for outcome in made.outcomes) > 3
    for outcome in made.outcomes:
        occupied = sum((stint.end_ms - stint.start_ms) * stint.gpu_milli // 1000 for stint in outcome.stints)
        assert outcome.useful_gpu_ms == 4 * 3_000_000
        assert occupied == outcome.useful_gpu_ms + outcome.lost_gpu_ms + outcome.saving_gpu_ms


def test_a_replay_is_over_when_the_last_job_has_failed_with_its_node() -> None:
    rates = FaultRates(mtbf=HOUR_MS // 6, repair=HOUR_MS // 60)
    told: list[tuple[int, int]] = []
    made = replay(
        a_trace(a_trace_job("a", 0, 100_000, gpus=8)),
        flat(1),
        find_policy("fifo"),
        Circumstances(faults=rates),
        progress=lambda done, of: told.append((done, of)),
    )
    assert made.outcomes[0].state is JobState.FAILED
    assert told == [(1, 1), (1, 1)]


def test_every_kind_of_fault_at_once_leaves_the_accounts_in_order() -> None:
    rates = FaultRates(
        mtbf=2 * HOUR_MS,
        repair=HOUR_MS // 4,
        rack=0.3,
        gpu=4 * HOUR_MS,
        straggler=HOUR_MS,
        crash=0.3,
        cancel=0.3,
        spot=HOUR_MS,
    )
    nodes = [
        a_node(f"n{place}", domains=(f"r{place % 2}",), pool="spot" if place < 2 else "main") for place in range(4)
    ]
    jobs = [a_trace_job(f"j{place}", place * 60, 2000, gpus=1 + place % 9) for place in range(60)]
    made = replayed(
        jobs,
        a_cluster(*nodes, levels=("rack",)),
        "muster",
        faults=rates,
        pools=(Pool(name=PoolName("spot"), spot=True),),
        habits=Habits(save_every_ms=300 * S, restart_cost_ms=30 * S, save_cost_ms=20 * S, leave_ms=5 * S),
    )
    assert all(outcome.state.is_final for outcome in made.outcomes)
    assert {outcome.state for outcome in made.outcomes} >= {JobState.SUCCEEDED, JobState.CANCELLED}
    for outcome in made.outcomes:
        occupied = sum((stint.end_ms - stint.start_ms) * stint.gpu_milli // 1000 for stint in outcome.stints)
        spent = outcome.useful_gpu_ms + outcome.lost_gpu_ms + outcome.saving_gpu_ms + outcome.slowed_gpu_ms
        assert occupied == pytest.approx(spent, abs=4)
    assert min(sample.used_milli for sample in made.samples) == 0
    assert max(sample.used_milli for sample in made.samples) <= 32_000


def test_two_replays_are_alike_to_the_byte_and_another_seed_is_not() -> None:
    jobs = [a_trace_job(f"j{place}", place * 60, 2000, gpus=4) for place in range(20)]
    rates = FaultRates(mtbf=2 * HOUR_MS)
    first, second, other = (replayed(jobs, "2x8", faults=rates, seed=seed) for seed in (1, 1, 2))
    assert first.log_hash == second.log_hash != other.log_hash
    assert first.outcomes == second.outcomes


def test_jobs_that_can_never_start_again_end_the_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = a_cluster(a_node("n1", state=NodeState.DRAINED.value), a_node("n2", gpus=1))
    jobs = [a_trace_job("a", 0, 100, gpus=1), a_trace_job("b", 1, 100, gpus=8)]
    made = replayed(jobs, cluster, "muster")
    assert [outcome.state for outcome in made.outcomes] == [JobState.SUCCEEDED, JobState.QUEUED]
    with_stragglers = replayed(jobs, cluster, "muster", faults=FaultRates(straggler=HOUR_MS))
    assert with_stragglers.outcomes[1].state is JobState.QUEUED
    monkeypatch.setattr(run_module, "ROUNDS_PER_MOMENT", 0)
    with pytest.raises(InvariantViolated, match="circles"):
        replayed([*jobs, a_trace_job("c", 1, 100)], flat(1))


def test_a_planner_of_ones_own_decides() -> None:
    lazy = NamedPolicy(
        name="lazy",
        summary="starts nothing",
        rules=Policy(),
        planner=lambda snapshot, now_ms: Plan(version=snapshot.version, now_ms=now_ms),
    )
    made = replay(a_trace(a_trace_job("a")), flat(1), lazy)
    assert (made.policy, made.outcomes[0].state) == ("lazy", JobState.QUEUED)


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    jobs = [a_trace_job(f"j{place}") for place in range(4)]
    replay(a_trace(*jobs), flat(1), find_policy("fifo"), progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4), (4, 4)]


def test_an_empty_trace_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has no jobs"):
        replay(a_trace(), flat(1), find_policy("fifo"), Circumstances())


def test_teams_with_limits_hold_in_a_replay() -> None:
    jobs = [a_trace_job(f"j{place}", 0, 100, gpus=4, team="nlp") for place in range(2)]
    made = replayed(jobs, flat(1), "fifo", teams=(a_team("nlp", limit={"h100": 4}),))
    assert ends_s(made) == {"j0": 100, "j1": 200}


def test_nothing_is_reported_of_saves_where_no_job_can_lose_work() -> None:
    job = a_trace_job("a", 0, 10 * 3600)
    quiet, watched = replayed([job]), replayed([job], policy="muster")
    assert quiet.outcomes == watched.outcomes
    assert quiet.log_hash != watched.log_hash
