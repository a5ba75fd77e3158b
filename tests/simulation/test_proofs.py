"""The proofs of `make proof`, on a scale that takes seconds: which way they point, not how far."""

from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from benchmarks import below_guarantee, heterogeneous, packing, policy_figures, promised_waits, training_time
from benchmarks.policy_cases import LOADS, MIXED, MOSTLY_SINGLE, Case, Cut, Recipe, cases_of, made_up
from muster.model.ids import GpuType, JobId, NodeName
from muster.model.job import JobState
from muster.model.node import ClusterSpec, Node
from muster.model.policy import HOUR_MS
from muster.model.resources import GPU_MILLI
from muster.model.trace import Trace, TraceJob
from muster.sim.outcome import JobOutcome, Stint
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


def a_case(durations: str, gangs: tuple[int, ...], load: float, *, seed: int = 21, jobs: int = 250) -> Case:
    recipe = Recipe(seed=seed, durations=durations, jobs=jobs, gangs=gangs, has_days=False, loads=(load,))
    return next(cases_of(Cut(name="tiny", source="tiny", jobs=made_up(recipe), loads=recipe.loads)))


@pytest.mark.parametrize(("durations", "gangs", "seed"), [("lognormal", MOSTLY_SINGLE, 22), ("bimodal", MIXED, 21)])
def test_jobs_are_done_about_as_soon_as_with_least_attained_service_and_sooner_than_in_order(
    durations: str, gangs: tuple[int, ...], seed: int
) -> None:
    # A few hours of jobs queue up only at a high load. Without queues all policies would do the same.
    case = a_case(durations, gangs, 3.0, seed=seed, jobs=400)
    result = policy_figures.measure(case, ("fifo", "las", "muster"))
    means = {figures.policy: figures.mean_jct_s for figures in result.figures}
    assert all(figures.finished == result.jobs for figures in result.figures)
    assert means["muster"] <= 1.02 * means["las"]
    assert means["muster"] < means["fifo"] / 2


def test_bars_are_missed_by_worse_figures() -> None:
    figures = policy_figures.measure(a_case("lognormal", MOSTLY_SINGLE, 1.1), ("las",)).figures[0]
    worse = replace(
        figures,
        mean_jct_s=figures.mean_jct_s + 1,
        worst_rho=2 * figures.worst_rho,
        unfair_percent=figures.unfair_percent + 2,
        preemptions_per_job=figures.preemptions_per_job + 1,
        goodput_percent=99.0,
    )
    assert all(policy_figures.bars(figures, figures).values())
    assert not any(policy_figures.bars(worse, figures).values())
    assert not policy_figures.bars(replace(figures, finished=figures.finished - 1), figures)["mean"]


def test_clusters_have_the_load_that_was_asked_for_and_room_for_every_gang() -> None:
    recipe = Recipe(seed=22, durations="uniform", jobs=2_000, gangs=MIXED, has_days=True, loads=LOADS)
    cases = list(cases_of(Cut(name="made", source="made", jobs=made_up(recipe))))
    assert [case.load for case in cases] == pytest.approx(LOADS, rel=0.05)
    assert all(job.gpu_milli <= 8_000 * case.nodes for case in cases for job in case.trace.jobs)


def test_promised_waits_are_kept_and_in_order_of_submission_they_would_not_be() -> None:
    case = a_case("exponential", MIXED, 1.5)
    for measured in (promised_waits.production_waits, promised_waits.quota_waits):
        assert measured(case, "muster").longer == 0
        assert measured(case, "fifo").longer > 0


def test_a_team_is_below_its_guarantee_from_when_a_waiting_job_would_be_inside_until_it_starts() -> None:
    def an_outcome(name: str, submit_s: int, *stints: tuple[int, int], gpus: int = 4) -> JobOutcome:
        milli = gpus * GPU_MILLI
        return JobOutcome(
            job=TraceJob(id=JobId(name), submit_ms=submit_s * 1000, run_ms=1, gpu_milli=milli),
            state=JobState.SUCCEEDED,
            first_start_ms=stints[0][0] * 1000,
            end_ms=stints[-1][1] * 1000,
            stints=tuple(
                Stint(start_ms=start_s * 1000, end_ms=end_s * 1000, gpu_milli=milli, nodes=())
                for start_s, end_s in stints
            ),
        )

    team = [
        an_outcome("first", 0, (0, 100), (200, 300)),
        an_outcome("second", 10, (160, 250)),
        an_outcome("at once", 400, (400, 500)),
    ]
    # Eight are guaranteed: the second is inside all the time, and the first when it waits again.
    found = [
        (each.since_ms // 1000, each.until_ms // 1000, each.is_first) for each in below_guarantee.spells(team, 8000)
    ]
    assert found == [(10, 160, True), (100, 200, False)]
    # Four are guaranteed: both would be inside once the first has left, until the second has started.
    found = [
        (each.since_ms // 1000, each.until_ms // 1000, each.is_first) for each in below_guarantee.spells(team, 4000)
    ]
    assert found == [(100, 160, True), (100, 160, False)]


def test_teams_are_below_their_guarantee_for_no_longer_than_promised_and_in_order_of_submission_they_would_be() -> None:
    case = a_case("exponential", MIXED, 1.5)
    below = {policy: promised_waits.quota_waits(case, policy).below for policy in ("fifo", "muster")}
    assert below["muster"] is not None
    assert below["muster"].longer == 0
    assert below["fifo"] is not None
    assert below["fifo"].longer > 0
