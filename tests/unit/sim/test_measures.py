import json
from pathlib import Path

import pytest

from muster.model.ids import TierName
from muster.model.job import JobState
from muster.sim.faults import FaultRates
from muster.sim.measures import distribution, measures, nearest_rank
from muster.sim.outcome import Sample
from tests.builders import a_team
from tests.unit.sim.builders import S, a_replay, a_stint, a_trace_job, an_outcome, replayed

FORMAT = {
    "policy", "jobs", "finished", "cancelled", "jct_s", "first_wait_s", "wait_by_tier_s", "makespan_s", "utilisation",
    "preemptions", "lost_gpu_s", "goodput", "fragmentation", "rho", "cpu_s", "log_hash",
}  # fmt: skip
"""The keys that others rely on."""


def a_sample(at_s: int, used: int, fragmentation: float) -> Sample:
    return Sample(
        at_ms=at_s * S,
        used_milli=used * 1000,
        usable_milli=8000,
        waiting_jobs=0,
        waiting_milli=0,
        fragmentation=fragmentation,
    )


def test_two_jobs_give_the_figures_one_can_work_out_by_hand() -> None:
    first = an_outcome(a_trace_job("a", 0, 100, gpus=8), 0, 100, useful_gpu_ms=800 * S)
    second = an_outcome(a_trace_job("b", 50, 100, gpus=4), 100, 200, useful_gpu_ms=400 * S)
    found = measures(a_replay(first, second))
    assert found.keys() >= FORMAT
    assert (found["jobs"], found["finished"], found["unfinished"], found["rejected"]) == (2, 2, 0, 0)
    assert found["jct_s"] == {"mean": 125.0, "p50": 100.0, "p99": 150.0}
    assert found["first_wait_s"] == {"mean": 25.0, "p50": 0.0, "p99": 50.0}
    assert found["wait_by_tier_s"] == {"standard": {"mean": 25.0, "p50": 0.0, "p99": 50.0}}
    assert (found["makespan_s"], found["utilisation"]) == (200.0, 1.0)
    assert (found["goodput"], found["effective_training_time"], found["lost_fraction"]) == (1.0, 1.0, 0.0)
    assert (found["cpu_s"], found["log_hash"], found["policy"]) == (0.5, "abc", "fifo")
    json.dumps(found)


def test_lost_work_lowers_goodput_and_waiting_between_attempts_lowers_effective_training_time() -> None:
    job = a_trace_job("a", 0, 100, gpus=1)
    outcome = an_outcome(
        job,
        0,
        200,
        preemptions=1,
        faults=2,
        useful_gpu_ms=100 * S,
        lost_gpu_ms=20 * S,
        saving_gpu_ms=5 * S,
        stints=(a_stint(0, 25, 1, "n1"), a_stint(100, 200, 1, "n1")),
    )
    found = measures(a_replay(outcome))
    assert (found["first_wait_s"]["mean"], found["total_wait_s"]["mean"]) == (0.0, 75.0)
    assert (found["preemptions"], found["preemptions_per_job"], found["faults"]) == (1, 1.0, 2)
    assert (found["lost_gpu_s"], found["saving_gpu_s"]) == (20.0, 5.0)
    assert (found["goodput"], found["lost_fraction"]) == (0.8, 0.16)
    assert found["effective_training_time"] == 0.5


def test_utilisation_looks_only_at_the_time_of_submissions() -> None:
    outcomes = (
        an_outcome(a_trace_job("a", 100, 100, gpus=4), 100, 1000),
        an_outcome(a_trace_job("b", 300, 100, gpus=8), 1000, 2000),
    )
    assert measures(a_replay(*outcomes))["utilisation"] == 0.5


def test_fragmentation_is_weighed_by_what_is_free_and_by_time() -> None:
    outcomes = (an_outcome(a_trace_job("a", 0), 0, 100), an_outcome(a_trace_job("b", 100), 100, 200))
    samples = (a_sample(0, 4, 0.5), a_sample(50, 7, 0.0), a_sample(100, 0, 1.0), a_sample(200, 0, 1.0))
    found = measures(a_replay(*outcomes, samples=samples))["fragmentation"]
    assert found == pytest.approx(0.5 * 4 * 50 / (4 * 50 + 1 * 50))


def test_jobs_that_did_not_finish_are_told_apart() -> None:
    found = measures(
        a_replay(
            an_outcome(a_trace_job("a"), None, None, state=JobState.FAILED),
            an_outcome(a_trace_job("b"), None, None, state=JobState.QUEUED),
            an_outcome(a_trace_job("c"), 0, 10, state=JobState.CANCELLED),
            an_outcome(a_trace_job("d"), 0, 20, state=JobState.TIMED_OUT),
            an_outcome(a_trace_job("e"), 0, 30, state=JobState.FAILED),
            an_outcome(a_trace_job("f"), 0, 30, state=JobState.FAILED),
        )
    )
    assert (found["finished"], found["cancelled"], found["unfinished"], found["rejected"]) == (0, 1, 4, 1)
    assert (found["timed_out"], found["failed"]) == (1, 2)


def test_what_there_is_no_value_of_is_none_and_not_zero() -> None:
    no_values = {"mean": None, "p50": None, "p99": None}
    ended = measures(a_replay(an_outcome(a_trace_job("a"), 0, 10, state=JobState.CANCELLED)))
    assert (ended["jct_s"], ended["makespan_s"], ended["goodput"]) == (no_values, 10.0, 0.0)
    assert ended["rho"] == {"worst": None, "unfair_fraction": None}
    waiting = measures(a_replay(an_outcome(a_trace_job("a"), None, None, state=JobState.QUEUED)))
    assert (waiting["jct_s"], waiting["first_wait_s"], waiting["wait_by_tier_s"]) == (no_values, no_values, {})
    names = ("makespan_s", "utilisation", "goodput", "effective_training_time", "lost_fraction")
    assert [waiting[name] for name in names] == [None] * len(names)
    json.dumps(waiting)


def test_jobs_that_all_come_at_once_use_the_cluster_until_the_last_has_ended() -> None:
    alone = replayed([a_trace_job("a", 5, 100, gpus=4)])
    assert measures(alone)["utilisation"] == 0.5
    both = replayed([a_trace_job("a", 5, 100, gpus=8), a_trace_job("b", 5, 100, gpus=4)])
    assert measures(both)["utilisation"] == 0.75


def test_the_gpu_time_of_jobs_that_were_given_up_was_of_no_use() -> None:
    made = replayed([a_trace_job(f"j{place}", 0, 3600) for place in range(8)], faults=FaultRates(cancel=1))
    found = measures(made)
    assert found["cancelled"] + found["finished"] == 8
    given_up = [outcome for outcome in made.outcomes if outcome.state is JobState.CANCELLED]
    assert len(given_up) > 1
    assert all(outcome.useful_gpu_ms == 0 < outcome.lost_gpu_ms for outcome in given_up)
    assert found["goodput"] < 1


def test_waits_are_told_by_tier_and_by_team() -> None:
    found = measures(
        a_replay(
            an_outcome(a_trace_job("a", 0, team="x", tier=TierName("production")), 5, 10),
            an_outcome(a_trace_job("b", 0, team="y"), 20, 30),
        )
    )
    assert {tier: wait["mean"] for tier, wait in found["wait_by_tier_s"].items()} == {"production": 5, "standard": 20}
    assert {team: wait["p99"] for team, wait in found["wait_by_team_s"].items()} == {"x": 5, "y": 20}


def test_rho_goes_by_weights_when_there_are_teams() -> None:
    made = replayed([a_trace_job("a", 0, 100, gpus=8, team="x"), a_trace_job("b", 0, 100, gpus=8, team="y")])
    alone, weighed = measures(made), measures(made, (a_team("x", weight=3), a_team("y")))
    assert alone["rho"] == alone["rho_by_weights"]["jobs"]
    assert weighed["rho"] == weighed["rho_by_weights"]["teams"] != alone["rho"]


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (1, 1), (50, 5), (51, 6), (90, 9), (99, 10), (100, 10)])
def test_percentiles_are_by_nearest_rank(percent: int, value: int) -> None:
    assert nearest_rank(range(1, 11), percent) == value


def test_a_distribution_leaves_out_what_is_not_known() -> None:
    assert distribution([None, 1000, None, 3000]) == {"mean": 2.0, "p50": 1.0, "p99": 3.0}


def test_every_figure_is_explained() -> None:
    document = (Path(__file__).parents[3] / "docs" / "SIMULATOR.md").read_text("utf-8")
    explained = document.partition("## Figures")[2]
    found = measures(a_replay(an_outcome(a_trace_job("a", 0, 100), 0, 100)))
    assert [name for name in found if name not in ("policy", "trace") and f"`{name}`" not in explained] == []


def test_of_jobs_that_come_at_once_the_id_decides() -> None:
    jobs = (a_trace_job("10", 0, 10, gpus=8), a_trace_job("9", 0, 100, gpus=8))
    made = replayed(jobs)
    assert [outcome.first_start_ms for outcome in made.outcomes] == [100 * S, 0]
