"""Jobs that do not take every node, and jobs that do not share one."""

from typing import Any

import pytest

from muster.core.planning.cycle import plan
from muster.core.snapshot import Snapshot
from muster.model.node import ClusterSpec
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.resources import Request
from muster.model.spec import JobSpec, RoleSpec
from tests.builders import a_cluster, a_job, a_node, a_scenario, flat, racks, runs, waits
from tests.unit.core.outcomes import codes, evicted, explained, nodes_used, promised, seats, started


def labelled() -> ClusterSpec:
    return a_cluster(
        a_node("n1", gpu_type="a100", labels=("ib",)),
        a_node("n2", gpu_type="a100", labels=("ib", "nvme")),
        a_node("n3", gpu_type="h100", labels=("nvme",)),
        a_node("n4", gpu_type="h100"),
    )


@pytest.mark.parametrize(
    ("wishes", "nodes"),
    [
        ({"constraint": "nvme & ib"}, ["n2"]),
        ({"constraint": "h100 & !nvme"}, ["n4"]),
        ({"exclude": ("n1", "n2", "n4")}, ["n3"]),
        ({"nodelist": ("n4",)}, ["n4"]),
        ({"nodelist": ("n2", "n4"), "constraint": "h100"}, ["n4"]),
        ({"constraint": "a100", "workers": 2, "gpus": 8}, ["n1", "n2"]),
        ({"constraint": "(n1 | n3) & !ib"}, ["n3"]),
    ],
)
def test_a_gang_goes_only_to_nodes_that_it_accepts(wishes: dict[str, Any], nodes: list[str]) -> None:
    assert nodes_used(a_scenario(labelled(), waiting=[waits("w", a_job(**wishes))])) == nodes


def test_a_gang_inside_a_rack_leaves_out_the_nodes_that_it_excludes() -> None:
    spec = a_job(workers=2, gpus=8, within="rack", exclude=("r1-n1",))
    assert nodes_used(a_scenario(racks(2, 2), waiting=[waits("w", spec)])) == ["r2-n1", "r2-n2"]


def test_what_is_busy_among_accepted_nodes_is_waited_for_and_named() -> None:
    busy = runs("r", a_job(gpus=8, hours=3, preemptible=False), [("n2", range(8))], hours_ago=1)
    scenario = a_scenario(labelled(), running=[busy], waiting=[waits("w", a_job(gpus=8, constraint="ib & nvme"))])
    assert promised(scenario) == {"w": (2 * HOUR_MS, ("n2",))}
    assert codes(scenario) == ["constraint", "capacity"]
    reason = explained(scenario)["w"].reasons[0]
    assert reason.message == "nodes that `constraint: ib & nvme` leaves out have room for it now"
    assert reason.would_help == "a constraint that accepts more nodes"


def test_a_victim_is_looked_for_only_on_accepted_nodes() -> None:
    running = [runs(f"r{n}", a_job(gpus=8, tier="exploratory"), [(f"n{n}", range(8))]) for n in (1, 2, 3, 4)]
    urgent = waits("w", a_job(gpus=8, tier="production", nodelist=("n3",)))
    assert evicted(a_scenario(labelled(), running=running, waiting=[urgent])) == [("r3", "w", "tier")]


def half_without_runtime() -> ClusterSpec:
    """One node has said that it runs images, one that it does not, and one has not said anything."""
    said = {"n1": "", "n2": "podman", "n3": None}
    return a_cluster(*(evolve(a_node(name), runtime=runtime) for name, runtime in said.items()))


def in_image(**fields: Any) -> JobSpec:
    return evolve(a_job(**fields), image="train:1")


def test_a_job_with_an_image_goes_only_to_nodes_that_run_images() -> None:
    scenario = a_scenario(half_without_runtime(), waiting=[waits("w", in_image(workers=2, gpus=8))])
    assert nodes_used(scenario) == ["n2", "n3"]


def test_nodes_without_a_runtime_are_named_when_only_they_have_room() -> None:
    busy = runs("r", a_job(gpus=8, workers=2, preemptible=False), [("n2", range(8)), ("n3", range(8))])
    scenario = a_scenario(half_without_runtime(), running=[busy], waiting=[waits("w", in_image(gpus=8))])
    assert codes(scenario) == ["image", "capacity"]
    reason = explained(scenario)["w"].reasons[0]
    assert reason.message == "it has an image, and only nodes without a container runtime have room for it now"
    assert reason.would_help == "podman, docker, apptainer or enroot on more nodes"


def test_a_node_that_loses_its_runtime_gets_no_job_with_an_image_any_more() -> None:
    scenario = a_scenario(half_without_runtime(), waiting=[waits("w", in_image(gpus=8, nodelist=("n2",)))])
    snapshot = Snapshot.of(scenario)
    assert [start.job for start in plan(snapshot, scenario.now_ms).starts] == ["w"]
    snapshot.change_node(evolve(a_node("n2"), runtime=""))
    assert plan(snapshot, scenario.now_ms).starts == ()


def half_with_whole_gpus() -> ClusterSpec:
    """The engine of the first two nodes gives whole GPUs only."""
    return a_cluster(*(evolve(a_node(f"n{number}"), whole_gpus=number < 3) for number in (1, 2, 3)))


def test_a_part_of_a_gpu_is_had_only_where_engines_give_parts() -> None:
    waiting = [
        waits("part", a_job(gpus=0.5)),
        waits("both", a_job(gpus=0.5, nodelist=("n1", "n3"))),
        waits("whole", a_job(gpus=8)),
    ]
    found = seats(a_scenario(half_with_whole_gpus(), waiting=waiting))
    assert {job: {node for node, _ in where} for job, where in found.items()} == {
        "part": {"n3"},
        "both": {"n3"},
        "whole": {"n1"},
    }


def test_nodes_that_give_whole_gpus_are_named_when_only_they_have_room() -> None:
    busy = runs("r", a_job(gpus=8, preemptible=False), [("n3", range(8))])
    scenario = a_scenario(half_with_whole_gpus(), running=[busy], waiting=[waits("w", a_job(gpus=0.5))])
    assert codes(scenario) == ["engine"]
    reason = explained(scenario)["w"].reasons[0]
    assert reason.message == "it asks for a part of a GPU, and only nodes have room whose engine gives whole ones"
    assert reason.would_help == "whole GPUs"


def alone(**fields: Any) -> JobSpec:
    return a_job(exclusive=True, **fields)


def test_a_job_that_wants_nodes_for_itself_takes_an_empty_one_and_closes_it() -> None:
    busy = runs("r", a_job(gpus=1), [("n1", (0,))])
    waiting = [waits("w", alone(gpus=2), hours_ago=3), waits("other", a_job(gpus=8), hours_ago=2)]
    scenario = a_scenario(
        flat(2), running=[busy], waiting=[*waiting, waits("small", a_job(gpus=1, hours=1), hours_ago=1)]
    )
    assert seats(scenario) == {"w": [("n2", (0, 1))], "small": [("n1", (1,))]}


def test_a_job_without_gpus_keeps_a_node_from_being_empty() -> None:
    idle = runs("r", a_job(gpus=0), [("n1", ())])
    scenario = a_scenario(flat(1), running=[idle], waiting=[waits("w", alone(gpus=1))])
    assert started(scenario) == []
    assert codes(scenario) == ["fragmented"]
    assert "`exclusive`" in explained(scenario)["w"].reasons[0].message


def test_a_closed_node_takes_no_job_without_gpus_either() -> None:
    running = [runs("r", alone(gpus=1), [("n1", (0,))])]
    assert started(a_scenario(flat(1), running=running, waiting=[waits("w", a_job(gpus=0))])) == []


def test_the_workers_and_roles_of_one_job_share_its_nodes() -> None:
    roles = tuple(
        RoleSpec(name=name, workers_min=2, workers_max=2, request=Request(gpu_milli=1000)) for name in ("a", "b")
    )
    assert nodes_used(a_scenario(flat(1), waiting=[waits("w", alone(gpus=1, workers=4))])) == ["n1"]
    assert nodes_used(a_scenario(flat(1), waiting=[waits("w", alone(roles=roles))])) == ["n1"]


def test_all_jobs_of_a_node_leave_for_one_that_wants_it_alone() -> None:
    running = [runs(f"r{gpu}", a_job(gpus=1, tier="exploratory"), [("n1", (gpu,))]) for gpu in range(3)]
    scenario = a_scenario(flat(1), running=running, waiting=[waits("w", alone(gpus=1, tier="production"))])
    assert sorted(evicted(scenario)) == [(f"r{gpu}", "w", "tier") for gpu in range(3)]


def test_an_elastic_job_on_nodes_of_its_own_is_not_shrunk_in_vain() -> None:
    spec = alone(gpus=1, workers=(1, 4), tier="standard", hours=10)
    elastic = runs("r", spec, [("n1", (gpu,)) for gpu in range(4)])
    scenario = a_scenario(flat(1), running=[elastic], waiting=[waits("w", a_job(gpus=1, tier="standard"))])
    assert promised(scenario) == {"w": (9 * HOUR_MS, ("n1",))}


def test_a_job_whose_time_has_not_come_is_passed_over() -> None:
    waiting = [waits("w", early=True), waits("x")]
    scenario = a_scenario(flat(1), waiting=waiting)
    assert started(scenario) == ["x"]
    assert codes(scenario) == ["begin"]
