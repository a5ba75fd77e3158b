"""The proofs of `make proof`, on a scale that takes seconds: which way they point, not how far."""

from decimal import Decimal
from random import Random

from benchmarks import heterogeneous, packing, training_time
from muster.model.ids import GpuType, JobId, NodeName
from muster.model.node import ClusterSpec, Node
from muster.model.policy import HOUR_MS
from muster.model.trace import Trace, TraceJob
from muster.sim.submissions import TraceSubmissions
from muster.sim.variation import scaled_arrivals

GIB = 1 << 30


def a_cluster(nodes: int, gpus: int, *kinds: str) -> ClusterSpec:
    """Every second node has half as many CPUs for each GPU as the others."""
    return ClusterSpec(
        nodes=tuple(
            Node(
                name=NodeName(f"{kind}-{index}"),
                gpus=gpus,
                gpu_type=GpuType(kind),
                cpu_milli=gpus * (8_000, 16_000)[index % 2],
                memory_bytes=gpus * 48 * GIB,
            )
            for kind in kinds
            for index in range(nodes)
        )
    )


def a_pod(number: int, gpu_milli: int, cpu_milli: int) -> TraceJob:
    return TraceJob(
        id=JobId(f"j{number}"),
        submit_ms=0,
        run_ms=HOUR_MS,
        gpu_milli=gpu_milli,
        cpu_milli=cpu_milli,
        memory_bytes=8 * GIB,
    )


def some_pods() -> list[TraceJob]:
    """Shares, single GPUs and whole nodes with few and many CPUs, and some that need only CPUs."""
    sizes = (1000, 1000, 1000, 810, 470, 320, 2000, 8000)
    shapes = [(size, cpu * max(1, size // 1000)) for size in sizes for cpu in (3_000, 11_000, 16_000)]
    shapes += [(0, 12_000)] * 3
    return [a_pod(number, gpu_milli, cpu_milli) for number, (gpu_milli, cpu_milli) in enumerate(shapes)]


def test_planned_pods_leave_fewer_fragments_than_best_fit_and_random_placement() -> None:
    cluster = a_cluster(40, 8, "g2")
    specs = [TraceSubmissions(cluster.nodes).spec(job) for job in some_pods()]
    fragments = dict.fromkeys(("muster", "best fit", "random"), 0.0)
    for rule in fragments:
        for seed in range(1, 5):
            found = packing.measure(specs, cluster, rule, seed)
            fragments[rule] += float(str(found["fragmented_percent"]))
    assert fragments["muster"] < fragments["best fit"]
    assert fragments["muster"] < fragments["random"]


def test_the_same_seed_draws_the_same_pods_until_enough_is_requested() -> None:
    cluster = a_cluster(10, 8, "g2")
    specs = [TraceSubmissions(cluster.nodes).spec(job) for job in some_pods()]
    drawn = packing.sample(specs, cluster, seed=3)
    assert drawn == packing.sample(specs, cluster, seed=3)
    assert sum(spec.gang_gpu_milli for spec in drawn) >= 1.3 * 80_000


def test_jobs_are_done_sooner_when_the_speeds_of_gpu_types_are_known() -> None:
    chance = Random(1)
    kinds = [GpuType(kind) for kind in ("k80", "p100", "v100")]
    jobs = []
    for number in range(120):
        run_ms = chance.randrange(HOUR_MS // 2, 6 * HOUR_MS)
        by_type = tuple(zip(kinds, (4 * run_ms, 3 * run_ms // 2, run_ms), strict=True))
        job = TraceJob(
            id=JobId(f"j{number:03d}"),
            submit_ms=number * HOUR_MS // 2,
            run_ms=run_ms,
            gpu_milli=1000,
            run_ms_by_type=by_type,
        )
        jobs.append(job)
    trace = scaled_arrivals(Trace(name="made up", jobs=tuple(jobs)), Decimal(2))
    assert heterogeneous.ratio(trace, a_cluster(2, 4, *kinds)) > 1


def test_a_large_gang_trains_most_of_its_time_although_it_is_interrupted_often() -> None:
    case = training_time.Case(
        name="small",
        nodes=32,
        spares=4,
        days=4,
        repair_ms=HOUR_MS,
        detect_ms=26_000,
        start_ms=58_000,
        save_ms=1_700,
    )
    found = training_time.measure(case)
    assert found["finished"]
    assert int(str(found["interruptions"])) > 10
    assert 0.9 < float(str(found["effective_training_time"])) < 1
