from itertools import cycle, islice

import pytest

from muster.core.cluster.tree import Tree
from muster.core.order import throughput
from muster.core.order.run_times import circles_of
from muster.core.order.throughput import ENOUGH_GROUPS, ENOUGH_STEPS, GangSpread, Throughput, spread_of
from muster.model.ids import GpuType
from muster.model.limits import STEP_KINDS, STEP_WINDOW
from muster.model.spec import JobSpec
from tests.builders import a_cluster, a_job, a_node, runs

A, B, C = GpuType("a100"), GpuType("b200"), GpuType("v100")


def taught(
    learnt: Throughput,
    spec: JobSpec,
    gpu_type: GpuType,
    step_ms: int,
    spread: GangSpread = GangSpread.NODE,
    times: int = ENOUGH_STEPS,
) -> None:
    for _ in range(times):
        learnt.learn(spec, gpu_type, spread, step_ms)


def test_nothing_is_known_until_two_types_have_reported_enough() -> None:
    learnt, job = Throughput(), a_job()
    assert learnt.speeds(job) == ()
    taught(learnt, job, A, 300)
    taught(learnt, job, B, 100, times=ENOUGH_STEPS - 1)
    assert learnt.speed_milli(job, A) is None
    learnt.learn(job, B, GangSpread.NODE, 100)
    assert learnt.speeds(job) == ((A, 350), (B, 1000))
    assert learnt.speed_milli(job, C) is None


def test_outliers_and_steps_of_no_length_change_nothing() -> None:
    learnt, job = Throughput(), a_job()
    taught(learnt, job, B, 100)
    for step_ms in islice(cycle((200, 200, 200, 90_000, 0, -5)), 6 * ENOUGH_STEPS):
        learnt.learn(job, A, GangSpread.NODE, step_ms)
    assert learnt.speed_milli(job, A) == 500


def test_old_steps_are_forgotten() -> None:
    learnt, job = Throughput(), a_job()
    taught(learnt, job, A, 100)
    taught(learnt, job, B, 1000)
    taught(learnt, job, B, 200, times=STEP_WINDOW)
    assert learnt.speed_milli(job, B) == 500


def test_types_are_compared_at_one_spread_only() -> None:
    learnt, job = Throughput(), a_job()
    taught(learnt, job, A, 100, GangSpread.NODE)
    taught(learnt, job, B, 400, GangSpread.WIDER)
    assert learnt.speeds(job) == ()
    taught(learnt, job, A, 800, GangSpread.WIDER)
    assert learnt.speeds(job) == ((A, 500), (B, 1000))


def test_a_wider_spread_is_as_fast_as_its_steps_are() -> None:
    learnt, job = Throughput(), a_job()
    assert learnt.spread_milli(job, GangSpread.RACK) is None
    for spread, step_ms in zip(GangSpread, (100, 125, 200), strict=True):
        taught(learnt, job, A, step_ms, spread)
    assert [learnt.spread_milli(job, spread) for spread in GangSpread] == [1000, 800, 500]


def test_other_jobs_of_a_team_are_judged_by_what_its_groups_found() -> None:
    learnt, other = Throughput(), a_job(name="new")
    for place, (slow_ms, fast_ms) in enumerate([(300, 100), (40_000, 20_000), (2, 1)][:ENOUGH_GROUPS]):
        assert learnt.speeds(other) == ()
        taught(learnt, a_job(name=f"model-{place}"), A, slow_ms)
        taught(learnt, a_job(name=f"model-{place}"), B, fast_ms)
    assert learnt.speeds(other) == ((A, 500), (B, 1000))


def test_models_that_run_on_different_types_are_not_compared() -> None:
    """A small model on an old type must not make that type look fast."""
    learnt = Throughput()
    for place in range(ENOUGH_GROUPS):
        taught(learnt, a_job(name=f"small-{place}"), C, 1)
        taught(learnt, a_job(name=f"large-{place}"), B, 9000)
    assert learnt.speeds(a_job(name="new")) == ()


def test_tables_of_different_types_are_not_mixed() -> None:
    learnt = Throughput()
    for place in range(ENOUGH_GROUPS):
        taught(learnt, a_job(name=f"one-{place}"), A, 200)
        taught(learnt, a_job(name=f"one-{place}"), B, 100)
    for place in range(ENOUGH_GROUPS - 1):
        taught(learnt, a_job(name=f"two-{place}"), A, 100)
        taught(learnt, a_job(name=f"two-{place}"), C, 900)
    assert learnt.speeds(a_job(name="new")) == ((A, 500), (B, 1000))


def test_a_speed_is_never_zero() -> None:
    learnt, job = Throughput(), a_job()
    taught(learnt, job, A, 1)
    taught(learnt, job, B, 10**9)
    assert learnt.speed_milli(job, B) == throughput.SPEED_STEP_MILLI


def test_what_was_saved_goes_on_as_before() -> None:
    learnt = Throughput()
    for place in range(40):
        job = a_job(name=f"model-{place % 37}")
        taught(learnt, job, (A, B, C)[place % 3], 100 + place, tuple(GangSpread)[place % 2])
        taught(learnt, job, B, 50 + place)
    again = Throughput.of(learnt.record())
    assert again.record() == learnt.record()
    for each in (learnt, again):
        taught(each, a_job(name="model-3"), C, 70)
    assert again.record() == learnt.record()
    assert [again.speeds(a_job(name=name)) for name in ("model-1", "model-3", "new")] == [
        learnt.speeds(a_job(name=name)) for name in ("model-1", "model-3", "new")
    ]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "STEP_CIRCLES", 3)
    learnt = Throughput()
    for place in range(10):
        for kind in range(STEP_KINDS + 5):
            taught(learnt, a_job(name=f"model-{place}", team=f"team-{place}"), GpuType(f"g{kind}"), 5, times=40)
    record = learnt.record()
    assert [name for _, _, name, _ in dict.fromkeys(each.alike for each in record)] == ["model-7", "model-8", "model-9"]
    assert len(record) == 3 * STEP_KINDS
    assert {len(each.step_ms) for each in record} == {STEP_WINDOW}
    assert len(learnt._members) == 2 * 3 + 2


def test_the_circles_around_a_group_are_those_of_its_jobs() -> None:
    alike, *around = circles_of(a_job(name="x"))
    assert list(throughput._around(alike)) == around


def test_how_far_workers_are_apart_follows_from_the_racks_of_their_nodes() -> None:
    nodes = [a_node("n1", domains=("r1",)), a_node("n2", domains=("r1",)), a_node("n3", domains=("r2",))]
    tree = Tree(a_cluster(*nodes, levels=("rack",)))
    places = {"n1 n1": GangSpread.NODE, "n1 n2": GangSpread.RACK, "n1 n3": GangSpread.WIDER}
    for names, spread in places.items():
        job = runs("j", a_job(workers=2, gpus=1), [(name, (0,)) for name in names.split()])
        assert spread_of(job.workers, tree) is spread
    flat = Tree(a_cluster(a_node("n1"), a_node("n2")))
    apart = runs("j", a_job(workers=2, gpus=1), [("n1", (0,)), ("n2", (0,))])
    assert spread_of(apart.workers, flat) is GangSpread.WIDER
