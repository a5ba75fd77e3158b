"""Where gangs go: whole or not at all, in the smallest domain, with the least harm to those still to come."""

from typing import Any

from muster.model.ids import GpuType
from muster.model.node import ClusterSpec, Node
from muster.model.policy import HOUR_MS, MINUTE_MS, Policy
from muster.model.resources import Request
from muster.model.spec import RoleSpec
from tests.builders import a_cluster, a_job, a_node, a_scenario, flat, racks, runs, waits
from tests.unit.core.outcomes import nodes_used, planned, promised, seats, started

LONG: dict[str, Any] = {"hours": 100, "preemptible": False}


def a_role(name: str, workers: int, *, gpus: float = 0, cpus: int = 0) -> RoleSpec:
    request = Request(gpu_milli=round(gpus * 1000), cpu_milli=cpus * 1000)
    return RoleSpec(name=name, workers_min=workers, workers_max=workers, request=request)


def blocks(*, racks_each: int = 2, nodes_each: int = 2) -> ClusterSpec:
    """Two blocks of racks of nodes: b1-r1-n1, …"""
    return a_cluster(
        *(
            a_node(f"b{block}-r{rack}-n{number}", domains=(f"b{block}", f"r{rack}"))
            for block in (1, 2)
            for rack in range(1, racks_each + 1)
            for number in range(1, nodes_each + 1)
        ),
        levels=("block", "rack"),
    )


def mixed(*types: str) -> ClusterSpec:
    """One node per type, n1, n2, …"""
    return a_cluster(*(a_node(f"n{at}", gpu_type=kind) for at, kind in enumerate(types, start=1)))


def test_a_gang_starts_whole() -> None:
    scenario = a_scenario(flat(3), waiting=[waits("w", a_job(gpus=8, workers=3))])
    assert [node for node, _ in seats(scenario)["w"]] == ["n1", "n2", "n3"]


def test_a_gang_of_which_one_worker_finds_no_room_does_not_start_at_all() -> None:
    running = [runs("r", a_job(gpus=1, **LONG), [("n3", (0,))])]
    for workers, starts in ((3, []), (2, ["w"])):
        waiting = [waits("w", a_job(gpus=8, workers=workers))]
        assert started(a_scenario(flat(3), running=running, waiting=waiting)) == starts


def test_a_gang_of_several_roles_starts_with_every_worker_of_every_role() -> None:
    roles = (a_role("trainer", 2, gpus=4), a_role("loader", 3, cpus=2))
    (start,) = planned(a_scenario(flat(1, cpus=64), waiting=[waits("w", a_job(roles=roles))])).starts
    assert [worker.role for worker in start.workers] == ["trainer", "trainer", "loader", "loader", "loader"]
    assert [worker.rank for worker in start.workers] == [0, 1, 2, 3, 4]


def test_a_gang_of_several_roles_waits_when_one_role_finds_no_room() -> None:
    for loaders, starts in ((3, []), (2, ["w"])):
        roles = (a_role("trainer", 2, gpus=4), a_role("loader", loaders, cpus=32))
        assert started(a_scenario(flat(1, cpus=64), waiting=[waits("w", a_job(roles=roles))])) == starts


def test_roles_that_do_not_fit_on_one_node_spread_over_a_rack() -> None:
    roles = (a_role("trainer", 2, gpus=8), a_role("loader", 1, cpus=2))
    scenario = a_scenario(racks(2, 2), waiting=[waits("w", a_job(roles=roles))])
    assert nodes_used(scenario) == ["r1-n1", "r1-n2"]


def test_a_role_in_tensor_groups_beside_another_keeps_its_groups_whole() -> None:
    roles = (a_role("trainer", 4, gpus=2), a_role("loader", 1, gpus=1))
    scenario = a_scenario(flat(2, gpus=6), waiting=[waits("w", a_job(roles=roles, tensor=4))])
    places = [node for node, _ in seats(scenario)["w"]]
    assert places[0] == places[1]
    assert places[2] == places[3]


def test_every_resource_of_a_worker_is_on_its_node() -> None:
    cluster = a_cluster(a_node("n1", gpus=8, cpus=4), a_node("n2", gpus=8, cpus=32))
    assert nodes_used(a_scenario(cluster, waiting=[waits("w", a_job(gpus=1, cpus=16))])) == ["n2"]


def test_memory_and_disk_limit_how_many_workers_share_a_node() -> None:
    request = Request(gpu_milli=1000, memory_bytes=60, disk_bytes=40)
    roles = (RoleSpec(name="worker", workers_min=2, workers_max=2, request=request),)
    by_memory = a_cluster(a_node("n1", memory_bytes=100), a_node("n2", memory_bytes=100))
    by_disk = a_cluster(a_node("n1", disk_bytes=70), a_node("n2", disk_bytes=70))
    for cluster in (by_memory, by_disk):
        assert nodes_used(a_scenario(cluster, waiting=[waits("w", a_job(roles=roles))])) == ["n1", "n2"]


def test_a_job_without_gpus_is_placed_by_its_cpus() -> None:
    cluster = a_cluster(a_node("n1", gpus=0, cpus=2), a_node("n2", gpus=0, cpus=16))
    assert seats(a_scenario(cluster, waiting=[waits("w", a_job(gpus=0, cpus=8))])) == {"w": [("n2", ())]}


def test_a_bad_gpu_is_never_given_out() -> None:
    cluster = a_cluster(a_node("n1", gpus=4, bad_gpus=(0, 2)))
    assert seats(a_scenario(cluster, waiting=[waits("w", a_job(gpus=2))])) == {"w": [("n1", (1, 3))]}
    assert started(a_scenario(cluster, waiting=[waits("w", a_job(gpus=3))])) == []


def test_nodes_that_drain_or_are_down_take_nothing_new() -> None:
    states = ("draining", "drained", "down")
    cluster = a_cluster(*(a_node(f"n{at}", state=state) for at, state in enumerate(states)))
    assert started(a_scenario(cluster, waiting=[waits("w")])) == []
    beside = a_cluster(*cluster.nodes, a_node("up"))
    assert nodes_used(a_scenario(beside, waiting=[waits("w")])) == ["up"]


def test_shares_of_gpus_are_packed_together() -> None:
    running = [runs("r", a_job(gpus=0.5, **LONG), [("n1", (3,))])]
    scenario = a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=0.5))])
    assert seats(scenario) == {"w": [("n1", (3,))]}


def test_a_share_goes_to_the_fullest_gpu_that_still_takes_it() -> None:
    running = [
        runs("r1", a_job(gpus=0.25, **LONG), [("n1", (0,))]),
        runs("r2", a_job(gpus=0.5, **LONG), [("n1", (1,))]),
        runs("r3", a_job(gpus=0.75, **LONG), [("n1", (2,))]),
    ]
    scenario = a_scenario(flat(1, gpus=4), running=running, waiting=[waits("w", a_job(gpus=0.5))])
    assert seats(scenario) == {"w": [("n1", (1,))]}


def test_shares_of_one_gang_fill_one_gpu_before_the_next() -> None:
    scenario = a_scenario(flat(1), waiting=[waits("w", a_job(gpus=0.4, workers=3))])
    assert seats(scenario) == {"w": [("n1", (0,)), ("n1", (0,)), ("n1", (1,))]}


def test_a_worker_with_a_whole_gpu_does_not_take_a_shared_one() -> None:
    running = [runs("r", a_job(gpus=0.25, **LONG), [("n1", (0,))])]
    scenario = a_scenario(flat(1, gpus=2), running=running, waiting=[waits("w", a_job(gpus=1))])
    assert seats(scenario) == {"w": [("n1", (1,))]}


def test_a_gang_that_fits_on_one_node_stays_on_one() -> None:
    scenario = a_scenario(flat(4), waiting=[waits("w", a_job(gpus=2, workers=4))])
    assert nodes_used(scenario) == ["n1"]


def test_a_gang_goes_into_the_smallest_domain_that_takes_it() -> None:
    running = [runs("r", a_job(gpus=8, **LONG), [("b1-r1-n1", range(8))])]
    two, four = a_job(gpus=8, workers=2), a_job(gpus=8, workers=4)
    assert nodes_used(a_scenario(blocks(), running=running, waiting=[waits("w", two)])) == ["b1-r2-n1", "b1-r2-n2"]
    assert {node[:2] for node in nodes_used(a_scenario(blocks(), running=running, waiting=[waits("w", four)]))} == {
        "b2"
    }


def test_a_gang_larger_than_any_domain_spreads_over_the_cluster_in_few_of_them() -> None:
    scenario = a_scenario(blocks(), waiting=[waits("w", a_job(gpus=8, workers=5))])
    assert [node[:5] for node in nodes_used(scenario)] == ["b1-r1", "b1-r1", "b1-r2", "b1-r2", "b2-r1"]


def test_ranks_are_numbered_along_the_tree() -> None:
    scenario = a_scenario(blocks(), waiting=[waits("w", a_job(gpus=8, workers=8))])
    nodes = [node for node, _ in seats(scenario)["w"]]
    assert nodes == sorted(nodes)


def test_nodes_are_numbered_as_people_count() -> None:
    scenario = a_scenario(flat(11), waiting=[waits("w", a_job(gpus=8, workers=11))])
    assert [node for node, _ in seats(scenario)["w"]][-2:] == ["n10", "n11"]


def test_a_gang_goes_into_the_tightest_rack_that_takes_it() -> None:
    cluster = a_cluster(
        *(a_node(f"big-{at}", domains=("big",)) for at in range(4)),
        *(a_node(f"small-{at}", domains=("small",)) for at in range(2)),
        levels=("rack",),
    )
    scenario = a_scenario(cluster, waiting=[waits("w", a_job(gpus=8, workers=2))])
    assert nodes_used(scenario) == ["small-0", "small-1"]


def test_a_small_job_goes_to_a_partly_used_node() -> None:
    running = [runs("r", a_job(gpus=6, **LONG), [("n3", range(6))])]
    scenario = a_scenario(flat(3), running=running, waiting=[waits("w", a_job(gpus=2))])
    assert seats(scenario) == {"w": [("n3", (6, 7))]}


def test_of_partly_used_nodes_the_one_it_fills_best_is_taken() -> None:
    running = [
        runs("r1", a_job(gpus=2, **LONG), [("n1", range(2))]),
        runs("r2", a_job(gpus=5, **LONG), [("n2", range(5))]),
    ]
    scenario = a_scenario(flat(3), running=running, waiting=[waits("w", a_job(gpus=3))])
    assert nodes_used(scenario) == ["n2"]


def test_whole_racks_are_kept_free_for_gangs_that_need_them() -> None:
    running = [runs("r", a_job(gpus=8, **LONG), [("r2-n1", range(8))])]
    scenario = a_scenario(racks(3, 2), running=running, waiting=[waits("w", a_job(gpus=4))])
    assert nodes_used(scenario) == ["r2-n2"]


def test_small_jobs_that_come_one_by_one_leave_room_for_the_largest_gang() -> None:
    small = [waits(f"s{at}", a_job(gpus=2)) for at in range(4)]
    used = {node for where in seats(a_scenario(racks(2, 2), waiting=small)).values() for node, _ in where}
    assert len(used) == 1


def test_within_is_never_given_up() -> None:
    spec = a_job(gpus=8, workers=2, within="rack")
    assert started(a_scenario(racks(2, 1), waiting=[waits("w", spec, hours_ago=500)])) == []
    assert nodes_used(a_scenario(racks(2, 2), waiting=[waits("w", spec)])) == ["r1-n1", "r1-n2"]


def test_within_a_node_keeps_all_workers_together() -> None:
    running = [runs("r", a_job(gpus=6, **LONG), [("n1", range(6))])]
    spec = a_job(gpus=2, workers=4, within="node")
    assert nodes_used(a_scenario(flat(2), running=running, waiting=[waits("w", spec)])) == ["n2"]


def test_workers_that_keep_apart_have_a_node_each() -> None:
    for gpus in (0, 2, 0.5):
        spec = a_job(gpus=gpus, workers=3, spread=True)
        assert nodes_used(a_scenario(flat(3), waiting=[waits("w", spec)])) == ["n1", "n2", "n3"]
        assert started(a_scenario(flat(2), waiting=[waits("w", spec)])) == []


def test_workers_that_keep_apart_share_nodes_with_other_jobs() -> None:
    running = [runs("r", a_job(gpus=6, **LONG), [("n1", range(6))])]
    spec = a_job(gpus=2, workers=2, spread=True)
    assert nodes_used(a_scenario(flat(2), running=running, waiting=[waits("w", spec)])) == ["n1", "n2"]


def scattered(minutes_ago: float, *, relax_after_ms: int = 0) -> list[str]:
    """Whether a gang of two that would rather have a rack starts on two racks."""
    spec = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=relax_after_ms)
    return started(a_scenario(racks(2, 1), waiting=[waits("w", spec, hours_ago=minutes_ago / 60)]))


def test_a_preference_holds_until_it_relaxes() -> None:
    assert scattered(29, relax_after_ms=30 * MINUTE_MS) == []
    assert scattered(30, relax_after_ms=30 * MINUTE_MS) == ["w"]


def test_a_preference_without_a_time_to_wait_relaxes_at_once() -> None:
    assert scattered(0) == ["w"]


def test_a_gang_whose_preference_relaxed_still_takes_the_tightest_domain_there_is() -> None:
    spec = a_job(gpus=8, workers=2, prefer="rack")
    assert nodes_used(a_scenario(racks(3, 2), waiting=[waits("w", spec)])) == ["r1-n1", "r1-n2"]


def test_the_cycle_comes_back_when_a_preference_relaxes() -> None:
    spec = a_job(gpus=8, workers=2, prefer="rack", relax_after_ms=2 * HOUR_MS)
    scenario = a_scenario(racks(2, 1), waiting=[waits("w", spec, hours_ago=1)])
    assert planned(scenario).wake_ms == scenario.now_ms + HOUR_MS


def test_a_preference_narrower_than_its_bound_is_tried_inside_it() -> None:
    spec = a_job(gpus=8, workers=3, within="block", prefer="rack", relax_after_ms=HOUR_MS)
    assert started(a_scenario(blocks(), waiting=[waits("w", spec, hours_ago=0.5)])) == []
    assert {node[:2] for node in nodes_used(a_scenario(blocks(), waiting=[waits("w", spec, hours_ago=2)]))} == {"b1"}


def test_a_tensor_group_never_crosses_a_node() -> None:
    running = [runs("r", a_job(gpus=6, **LONG), [("n1", range(6))])]
    spec = a_job(gpus=1, workers=8, tensor=4)
    where = seats(a_scenario(flat(3, gpus=8), running=running, waiting=[waits("w", spec)]))["w"]
    assert len({node for node, _ in where[:4]}) == 1
    assert len({node for node, _ in where[4:]}) == 1


def test_tensor_groups_that_fit_no_node_whole_do_not_start() -> None:
    running = [runs(f"r{at}", a_job(gpus=6, **LONG), [(f"n{at}", range(6))]) for at in (1, 2)]
    for tensor, starts in ((4, []), (2, ["w"])):
        spec = a_job(gpus=1, workers=4, tensor=tensor)
        assert started(a_scenario(flat(2), running=running, waiting=[waits("w", spec)])) == starts


def nvlink_racks(count: int, size: int) -> ClusterSpec:
    nodes: list[Node] = [*racks(count, size).nodes]
    return a_cluster(*nodes, levels=("rack",), nvlink="rack")


def test_a_tensor_group_may_span_the_nodes_of_an_nvlink_domain() -> None:
    spec = a_job(gpus=8, workers=4, tensor=16)
    where = [node for node, _ in seats(a_scenario(nvlink_racks(2, 3), waiting=[waits("w", spec)]))["w"]]
    assert where == ["r1-n2", "r1-n3", "r2-n2", "r2-n3"]


def test_a_tensor_group_that_fits_no_nvlink_domain_does_not_start() -> None:
    running = [runs(f"r{at}", a_job(gpus=1, **LONG), [(f"r{at}-n1", (0,))]) for at in (1, 2)]
    for tensor, starts in ((16, []), (8, ["w"])):
        spec = a_job(gpus=8, workers=2, tensor=tensor)
        assert started(a_scenario(nvlink_racks(2, 2), running=running, waiting=[waits("w", spec)])) == starts


def test_a_tensor_group_inside_an_nvlink_domain_below_a_block_stays_there() -> None:
    cluster = a_cluster(*blocks().nodes, levels=("block", "rack"), nvlink="rack")
    running = [runs("r", a_job(gpus=8, **LONG), [("b1-r1-n1", range(8))])]
    spec = a_job(gpus=8, workers=6, tensor=16)
    where = [node for node, _ in seats(a_scenario(cluster, running=running, waiting=[waits("w", spec)]))["w"]]
    assert [where[at][:5] for at in (0, 2, 4)] == [where[at][:5] for at in (1, 3, 5)]


def test_a_tensor_group_may_span_racks_when_nvlink_does() -> None:
    cluster = a_cluster(*blocks(nodes_each=1).nodes, levels=("block", "rack"), nvlink="block")
    spec = a_job(gpus=8, workers=2, tensor=16)
    running = [runs("r", a_job(gpus=8, **LONG), [("b1-r1-n1", range(8))])]
    scenario = a_scenario(cluster, running=running, waiting=[waits("w", spec)])
    assert nodes_used(scenario) == ["b2-r1-n1", "b2-r2-n1"]


def test_a_job_takes_the_first_type_it_lists_that_has_room() -> None:
    spec = a_job(gpus=8, gpu_type=("h100", "a100"))
    assert nodes_used(a_scenario(mixed("a100", "h100"), waiting=[waits("w", spec)])) == ["n2"]
    running = [runs("r", a_job(gpus=1, **LONG), [("n2", (0,))])]
    assert nodes_used(a_scenario(mixed("a100", "h100"), running=running, waiting=[waits("w", spec)])) == ["n1"]


def test_a_job_never_runs_on_a_type_it_does_not_accept() -> None:
    waiting = [waits("w", a_job(gpus=8, gpu_type="h100"))]
    assert started(a_scenario(mixed("a100", "a100"), waiting=waiting)) == []
    assert nodes_used(a_scenario(mixed("a100", "h100"), waiting=waiting)) == ["n2"]


def test_a_role_never_mixes_types() -> None:
    spec = a_job(gpus=8, workers=2, gpu_type=("h100", "a100"))
    assert started(a_scenario(mixed("a100", "h100"), waiting=[waits("w", spec)])) == []
    assert nodes_used(a_scenario(mixed("a100", "h100", "a100"), waiting=[waits("w", spec)])) == ["n1", "n3"]


def test_what_a_job_says_of_its_speed_outweighs_the_order_it_lists() -> None:
    request = Request(
        gpu_milli=8000,
        gpu_types=(GpuType("a100"), GpuType("h100")),
        throughput=((GpuType("a100"), 500), (GpuType("h100"), 1000)),
    )
    roles = (RoleSpec(name="worker", workers_min=1, workers_max=1, request=request),)
    assert nodes_used(a_scenario(mixed("a100", "h100"), waiting=[waits("w", a_job(roles=roles))])) == ["n2"]


def test_the_policy_knows_which_type_is_faster_for_jobs_that_do_not_say() -> None:
    policy = Policy(throughput=((GpuType("h100"), 3000),))
    scenario = a_scenario(mixed("a100", "h100"), policy=policy, waiting=[waits("w", a_job(gpus=8))])
    assert nodes_used(scenario) == ["n2"]


def test_a_gang_that_lost_a_node_keeps_the_nodes_that_survived() -> None:
    spec = a_job(gpus=8, workers=2)
    again = waits("w", spec, preferred_nodes=("r2-n1",))
    assert nodes_used(a_scenario(racks(3, 3), waiting=[again])) == ["r2-n1", "r2-n2"]


def test_a_gang_whose_surviving_rack_has_no_room_goes_where_it_fits() -> None:
    running = [runs("r", a_job(gpus=8, **LONG), [("r1-n2", range(8))])]
    again = waits("w", a_job(gpus=8, workers=2, within="rack"), preferred_nodes=("r1-n1",))
    assert nodes_used(a_scenario(racks(2, 2), running=running, waiting=[again])) == ["r2-n1", "r2-n2"]


def test_surviving_nodes_that_no_longer_exist_are_forgotten() -> None:
    again = waits("w", a_job(gpus=8, workers=2), preferred_nodes=("gone", "n2"))
    assert nodes_used(a_scenario(flat(3), waiting=[again])) == ["n1", "n2"]


def test_a_gang_in_tensor_groups_is_placed_anew_after_a_loss() -> None:
    again = waits("w", a_job(gpus=4, workers=4, tensor=8), preferred_nodes=("n2",))
    assert len(nodes_used(a_scenario(flat(3), waiting=[again]))) == 2


def test_a_promise_names_the_exact_nodes_where_the_gang_will_sit() -> None:
    running = [runs(f"r{at}", a_job(gpus=8, hours=1 + at, preemptible=False), [(f"n{at}", range(8))]) for at in (1, 2)]
    scenario = a_scenario(flat(2), running=running, waiting=[waits("w", a_job(gpus=8))])
    assert promised(scenario) == {"w": (HOUR_MS, ("n1",))}
