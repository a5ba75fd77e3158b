"""A running elastic job that is not as large as it may be says why."""

from typing import Any

import pytest

from muster.core.explaining.growth import why_no_larger
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import RunningJob
from muster.model.node import NodeState
from muster.model.policy import MINUTE_MS, Policy
from muster.model.records import evolve
from muster.model.scenario import Scenario
from muster.model.spec import Launch
from tests.builders import NOW_MS, a_cluster, a_job, a_node, a_scenario, a_team, flat, runs, waits


def elastic(size: int = 1, *, high: int = 4, **fields: Any) -> RunningJob:
    spec = a_job(gpus=2, workers=(1, high), **{"checkpoint": True} | fields)
    return runs("e", spec, [("n1", (2 * at, 2 * at + 1)) for at in range(size)], hours_ago=1)


def said(scenario: Scenario) -> str:
    return why_no_larger(JobId("e"), Snapshot.of(scenario), NOW_MS)


BUSY = runs("busy", a_job(gpus=6), [("n1", range(2, 8))])
DRAINED = a_cluster(a_node("n1", state=NodeState.DRAINING), a_node("n2"))


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        (a_scenario(flat(1), running=[elastic(), BUSY]), "has room for one more worker, which needs 2 GPUs"),
        (a_scenario(flat(1), running=[evolve(elastic(), can_grow=False)]), "it has no `checkpoint` to go on from"),
        (a_scenario(flat(1), running=[evolve(elastic(), can_resize=False)]), "it is changing its size"),
        (
            a_scenario(flat(1), running=[evolve(elastic(), resized_ms=NOW_MS - MINUTE_MS)]),
            "less than `min_runtime` ago",
        ),
        (a_scenario(flat(1), running=[elastic(hours=1.01)]), "it must end soon"),
        (a_scenario(DRAINED, running=[elastic()]), "one of its nodes takes no work"),
        (a_scenario(flat(1), running=[elastic()], policy=Policy(elastic=False)), "`elastic` is off"),
        (
            a_scenario(flat(1), teams=[a_team("a", limit={"*": 3})], running=[elastic(team="a")]),
            "the quota of a does not allow one more worker",
        ),
        (a_scenario(flat(1), running=[elastic()]), "it grows with the next plan"),
        (a_scenario(flat(1), running=[elastic()], waiting=[waits("w", a_job(gpus=6))]), "other jobs wait"),
    ],
)
def test_it_says_why(scenario: Scenario, why: str) -> None:
    assert why in said(scenario)


def test_it_names_a_job_that_was_promised_what_is_free() -> None:
    firm = runs("firm", a_job(gpus=2, hours=2, preemptible=False), [("n1", (2, 3))])
    scenario = a_scenario(flat(1), running=[elastic(hours=9), firm], waiting=[waits("w", a_job(gpus=6))])
    promises = plan(Snapshot.of(scenario), NOW_MS).promises
    assert said(evolve(scenario, promises=promises)) == "what is free is promised to other jobs, such as w"


def test_workers_without_gpus_need_none() -> None:
    cpu = runs("e", a_job(gpus=0, cpus=6, workers=(1, 2), checkpoint=True), [("n1", ())], hours_ago=1)
    cluster = a_cluster(evolve(a_node("n1"), cpu_milli=10_000))
    assert said(a_scenario(cluster, running=[cpu])) == "no node that it may use has room for one more worker"


def test_jobs_that_could_not_be_larger_say_nothing() -> None:
    assert said(a_scenario(flat(1), running=[elastic(4)])) == ""
    assert said(a_scenario(flat(1), running=[runs("e", a_job(gpus=2), [("n1", (0, 1))])])) == ""
    assert said(a_scenario(flat(1))) == ""


def test_workers_that_were_lost_with_a_node_are_replaced_at_once() -> None:
    lost = evolve(elastic(launch=Launch.TORCHRUN), resized_ms=NOW_MS - MINUTE_MS, lost_workers=1)
    assert said(a_scenario(flat(1), running=[lost])) == "there is room, and it grows with the next plan"
