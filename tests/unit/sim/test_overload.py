"""Demand against capacity, with numbers that can be worked out by hand. Times are in hours, capacities in GPUs."""

from typing import Any

import pytest

from muster.model.ids import GpuType, PoolName, TeamPath, TierName
from muster.model.policy import HOUR_MS, Pool
from muster.model.trace import TraceJob
from muster.sim.fluid import Flow, enough_milli, merged
from muster.sim.measures import measures
from muster.sim.outcome import Replay
from muster.sim.overload import EVERYBODY, Overloads
from tests.builders import a_node, a_team
from tests.unit.sim.builders import a_trace_job, replayed

HOUR_S = 3600
EIGHT = (a_node("n1", gpus=8, gpu_type="h100"),)


def a_job(name: str, submit_h: float, run_h: float, gpus: float, **fields: Any) -> TraceJob:
    return a_trace_job(name, submit_h * HOUR_S, run_h * HOUR_S, gpus, **fields)


def flow(*jobs: TraceJob, gpus: int = 8) -> Flow:
    steps = [[(job.submit_ms, job.gpu_milli), (job.submit_ms + job.run_ms, -job.gpu_milli)] for job in jobs]
    return Flow(merged(steps), gpus * 1000)


def overloads(*jobs: TraceJob, nodes: Any = EIGHT, **rules: Any) -> Overloads:
    return Overloads(jobs, nodes, **rules)


def test_what_exceeds_capacity_piles_up_and_is_worked_off_afterwards() -> None:
    (stretch,) = flow(a_job("a", 10, 48, 8), a_job("b", 10, 48, 8)).lasting()
    assert (stretch.from_ms, stretch.until_ms) == (10 * HOUR_MS, 58 * HOUR_MS)
    assert (stretch.load, stretch.behind_ms, stretch.cleared_ms) == (2.0, 48 * HOUR_MS, 106 * HOUR_MS)


def test_a_backlog_goes_on_over_a_night_in_which_it_is_not_worked_off() -> None:
    days = [a_job(f"day{day}", 24 * day, 12, 16) for day in range(4)]
    (stretch,) = flow(a_job("base", 0, 96, 2), *days).lasting()
    # Half of each day 18 GPUs are asked for and half of it 2, which leaves 24 GPU hours each day.
    assert (stretch.from_ms, stretch.until_ms) == (0, 84 * HOUR_MS)
    assert stretch.behind_ms == (3 * 48 + 120) * HOUR_MS // 8
    assert flow(*days).lasting() == ()


@pytest.mark.parametrize(
    ("gpus", "run_h"),
    [(8, 48), (16, 20), (9, 40)],
    ids=["no more than there is", "a rush of less than a day", "an hour behind after days"],
)
def test_a_short_or_slight_excess_is_no_lasting_overload(gpus: int, run_h: int) -> None:
    assert flow(a_job("a", 0, run_h, gpus)).lasting() == ()


def test_what_passes_a_limit_is_never_more_than_the_limit_and_nothing_gets_lost() -> None:
    passed = flow(a_job("a", 0, 48, 24), a_job("b", 100, 10, 4))
    end_ms = (24 * 48 + 4 * 10) * HOUR_MS // 8
    assert passed.served == [(0, 8_000), (end_ms, -8_000)]


def test_a_job_waits_for_the_backlog_that_it_finds() -> None:
    moments_ms = [hour * HOUR_MS for hour in (0, 12, 48, 60, 96, 200)]
    waits_ms = flow(a_job("a", 0, 48, 16)).waits_ms(moments_ms)
    assert [wait_ms / HOUR_MS for wait_ms in waits_ms] == [0, 12, 48, 36, 0, 0]


def test_enough_is_the_least_that_leaves_no_lasting_overload() -> None:
    steps = merged([[(0, 30_000), (48 * HOUR_MS, -30_000)]])
    more_milli = enough_milli(steps, 8_000, 8_000)
    assert Flow(steps, 8_000 + more_milli).lasting() == ()
    assert Flow(steps, more_milli).lasting()


def test_a_cluster_with_room_is_not_overloaded() -> None:
    found = overloads(a_job("a", 0, 100, 4), a_job("b", 50, 100, 4))
    assert (found.found, found.wait_ms) == ([], [0, 0])


def test_the_load_of_the_trace_is_the_work_over_the_time_of_submissions() -> None:
    found = overloads(a_job("a", 0, 48, 8), a_job("b", 0, 48, 8), a_job("c", 48, 48, 2))
    (overload,) = found.found
    assert (overload.team, overload.capacity_milli, overload.jobs) == (EVERYBODY, 8_000, 3)
    assert overload.load == round((2 * 48 * 8 + 48 * 2) / (8 * 48), 4)
    assert [wait_ms / HOUR_MS for wait_ms in found.wait_ms] == [0, 0, 48]
    assert overload.missing_milli(overload.worst.load, target=1) == 8_000
    assert overload.missing_milli(0.5, target=0.95) == 0


def test_where_quota_binds_the_team_is_named_and_the_cluster_is_not() -> None:
    nlp = a_team("nlp", limit={"h100": 2})
    jobs = [a_job("a", 0, 48, 2, team="nlp/eval"), a_job("b", 0, 48, 8, team="nlp"), a_job("c", 0, 48, 4, team="cv")]
    (overload,) = overloads(*jobs, teams=(nlp, a_team("nlp/eval"), a_team("cv"))).found
    assert (overload.team, overload.capacity_milli, overload.jobs) == (TeamPath("nlp"), 2_000, 2)
    assert overload.worst.load == 5.0


def test_quotas_that_let_through_too_much_leave_the_cluster_overloaded() -> None:
    teams = tuple(a_team(name, limit={"*": 8}) for name in ("nlp", "cv"))
    jobs = [a_job(name, 0, 72, 16, team=name) for name in ("nlp", "cv")]
    found = {overload.team: overload.worst.load for overload in overloads(*jobs, teams=teams).found}
    assert found == {"nlp": 2.0, "cv": 2.0, "": 2.0}


def test_only_the_nodes_that_jobs_insist_on_are_overloaded() -> None:
    nodes = (*EIGHT, a_node("n2", gpus=8, gpu_type="a100"), a_node("n3", gpus=8, gpu_type="a100"))
    picky = [a_job(name, 0, 48, 8, gpu_types=("h100",)) for name in ("a", "b")]
    (overload,) = overloads(*picky, a_job("c", 0, 48, 8), nodes=nodes).found
    assert [kind.gpu_type for kind in overload.kinds] == [GpuType("h100")]
    assert (overload.capacity_milli, overload.jobs) == (8_000, 2)


def test_a_pool_that_does_not_admit_a_job_is_no_capacity_for_it() -> None:
    nodes = (*EIGHT, a_node("n2", gpus=8, gpu_type="h100", pool="urgent"))
    pools = (Pool(name=PoolName("main")), Pool(name=PoolName("urgent"), tiers=(TierName("production"),)))
    (overload,) = overloads(a_job("a", 0, 48, 8), a_job("b", 0, 48, 8), nodes=nodes, pools=pools).found
    assert [kind.pool for kind in overload.kinds] == [PoolName("main")]


def an_overloaded_replay() -> Replay:
    """Three days of work for one, on 8 GPUs: two teams, and a job that no node can take."""
    jobs = [a_job(f"a{hour}", hour, 10, 8, team="nlp") for hour in range(0, 60, 6)]
    jobs += [a_job("small", 60, 1, 1, team="cv"), a_job("huge", 61, 1, 64, team="cv")]
    return replayed(jobs, policy="fifo")


def test_the_figures_say_what_was_overloaded_who_waits_and_what_helps() -> None:
    figures = measures(an_overloaded_replay())["overload"]
    (part,) = figures["parts"]
    assert (part["bound_by"], part["team"], part["is_whole"], part["gpus"], part["jobs"]) == (
        "capacity",
        None,
        True,
        8.0,
        11,
    )
    assert part["worst"]["behind_s"] == part["stretches"][0]["behind_s"] == pytest.approx(36.6 * HOUR_S, rel=0.05)
    nodes = {(each["over"], each["load"]): each["more_nodes"] for each in part["remedies"]}
    assert nodes == {
        ("trace", 1.0): 1,
        ("stretch", 1.0): 1,
        ("trace", 0.95): 1,
        ("stretch", 0.95): 1,
        ("all", None): 1,
    }
    waits = figures["waits"]
    assert {name: waits[name] for name in ("jobs", "long", "beyond_fifo", "slowed")} == {
        "jobs": 11,
        "long": 4,
        "beyond_fifo": 0,
        "slowed": 1,
    }
    assert waits["by_team"]["cv"] == {"jobs": 1, "long": 1, "beyond_fifo": 0, "slowed": 1}
    assert waits["by_tier"].keys() == {"standard"}


def test_a_replay_without_lasting_overload_has_no_figures_of_it() -> None:
    assert measures(replayed([a_job("a", 0, 10, 8), a_job("b", 0, 10, 8)]))["overload"] is None
