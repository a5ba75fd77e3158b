"""No gang spans two engines, whatever room there is in both together."""

import pytest

from muster.core.plan_lint import lint
from muster.core.planning import plan
from muster.core.snapshot import Snapshot
from muster.formats.rules.cluster_file import cluster_from_document
from muster.formats.text.document import parse_document
from muster.model.ids import ENGINE_LEVEL, EngineName, NodeName
from muster.model.node import ClusterSpec
from muster.model.plan import ReasonCode
from muster.model.records import evolve
from tests.builders import NOW_MS, a_job, a_scenario, runs, waits
from tests.unit.core.outcomes import codes, explained, nodes_used


def two_engines(levels: str = "", rack: str = "") -> ClusterSpec:
    """Two nodes on this machine, and two elsewhere."""
    text = f"""
    {levels}
    nodes:
      - {{name: "a[1-2]", gpus: 8, gpu_type: h100{rack}}}
      - {{name: "b[1-2]", gpus: 8, gpu_type: h100, engine: lab{rack}}}
    """
    return cluster_from_document(parse_document(text, file="cluster.yaml"))


def test_the_engine_is_the_outermost_level_only_where_there_are_several() -> None:
    cluster = two_engines("levels: [rack]", ", rack: r1")
    assert cluster.levels == (ENGINE_LEVEL, "rack")
    assert [node.domains for node in cluster.nodes][::2] == [("local", "r1"), ("lab", "r1")]
    alone = parse_document("{nodes: [{name: 'b[1-2]', gpus: 8, engine: lab}]}", file="cluster.yaml")
    assert cluster_from_document(alone).levels == ()


def test_a_gang_starts_inside_one_engine_and_waits_rather_than_span_two() -> None:
    small, large = a_job(workers=2, gpus=8), a_job(workers=3, gpus=8)
    one = Snapshot.of(a_scenario(two_engines(), waiting=[waits("w", small)]))
    (start,) = plan(one, NOW_MS).starts
    assert {worker.node[0] for worker in start.workers} in ({"a"}, {"b"})
    two = Snapshot.of(a_scenario(two_engines(), waiting=[waits("w", large)]))
    assert plan(two, NOW_MS).starts == ()


def test_a_gang_that_would_fit_across_engines_hears_so() -> None:
    left = [runs(f"r{node}", a_job(gpus=8, hours=5, preemptible=False), [(node, range(8))]) for node in ("a1", "b1")]
    scenario = a_scenario(two_engines(), running=left, waiting=[waits("w", a_job(workers=2, gpus=8))])
    assert codes(scenario) == [ReasonCode.ENGINE]
    assert "no gang spans two" in explained(scenario)["w"].reasons[0].message


@pytest.mark.parametrize(("engine", "nodes"), [("local", ["a1", "a2"]), ("lab", ["b1", "b2"])])
def test_a_job_that_names_an_engine_goes_only_there(engine: str, nodes: list[str]) -> None:
    pinned = a_job(workers=2, gpus=8, engine=EngineName(engine))
    assert nodes_used(a_scenario(two_engines(), waiting=[waits("w", pinned)])) == nodes


def test_a_job_that_names_a_full_engine_hears_that_others_have_room() -> None:
    full = runs("r", a_job(workers=2, gpus=8, hours=5, preemptible=False), [("b1", range(8)), ("b2", range(8))])
    pinned = waits("w", a_job(gpus=8, engine=EngineName("lab")))
    reason = explained(a_scenario(two_engines(), running=[full], waiting=[pinned]))["w"].reasons[0]
    assert (reason.code, reason.message, reason.would_help) == (
        "constraint",
        "nodes that `engine: lab` leaves out have room for it now",
        "leaving out `engine`, or another one",
    )


def test_a_plan_that_takes_a_job_to_another_engine_than_it_names_is_refused() -> None:
    snapshot = Snapshot.of(a_scenario(two_engines(), waiting=[waits("w", a_job(gpus=8, engine=EngineName("lab")))]))
    made = plan(snapshot, NOW_MS)
    (start,) = made.starts
    elsewhere = evolve(start, workers=(evolve(start.workers[0], node=NodeName("a1")),))
    wrong = lint(evolve(made, starts=(elsewhere,)), snapshot)
    assert "w is on a1, which it does not accept" in map(str, wrong)


def test_a_plan_that_spreads_a_gang_over_two_engines_is_refused() -> None:
    snapshot = Snapshot.of(a_scenario(two_engines(), waiting=[waits("w", a_job(workers=2, gpus=8))]))
    made = plan(snapshot, NOW_MS)
    (start,) = made.starts
    other = NodeName("b1" if start.workers[0].node[0] == "a" else "a1")
    moved = evolve(start, workers=(start.workers[0], evolve(start.workers[1], node=other)))
    wrong = lint(evolve(made, starts=(moved,)), snapshot)
    assert any("leaves its engine" in str(each) for each in wrong)
