"""How fast running jobs are where they are, and on a share of all GPUs."""

from muster.core.cluster.gang import gang_of
from muster.core.order.pace import usual_speed_milli
from muster.core.snapshot import Snapshot
from muster.model.ids import GpuType, PoolName, TeamPath
from muster.model.job import RunningJob
from muster.model.policy import HOUR_MS, Policy, Pool
from tests.builders import a_cluster, a_job, a_node, a_scenario, runs

CLUSTER = a_cluster(a_node("f", gpu_type="h100", gpus=4), a_node("s", gpu_type="k80", gpus=12))
KNOWN = Policy(throughput=((GpuType("k80"), 200),))


def snapshot_of(*running: RunningJob, policy: Policy = KNOWN) -> Snapshot:
    return Snapshot.of(a_scenario(CLUSTER, running=list(running), policy=policy))


def test_the_usual_speed_is_that_of_a_share_of_every_type_that_a_gang_accepts() -> None:
    setting = snapshot_of().setting
    assert usual_speed_milli(gang_of(a_job(gpus=1), setting), setting) == (4 * 1000 + 12 * 200) // 16
    assert usual_speed_milli(gang_of(a_job(gpus=1, gpu_type="k80"), setting), setting) == 200


def test_gpus_of_pools_that_are_kept_for_others_do_not_count() -> None:
    cluster = a_cluster(
        a_node("kept", gpu_type="h100", gpus=64, pool="kept"),
        a_node("m", gpu_type="a100", gpus=8),
        a_node("s", gpu_type="k80", gpus=8),
    )
    speeds = Policy(throughput=((GpuType("a100"), 500), (GpuType("k80"), 100)))
    pools = [Pool(name=PoolName("kept"), teams=(TeamPath("vip"),))]
    setting = Snapshot.of(a_scenario(cluster, policy=speeds, pools=pools)).setting
    assert usual_speed_milli(gang_of(a_job(gpus=1), setting), setting) == 300


def test_a_job_that_accepts_slower_gpus_is_content_with_less() -> None:
    fast = runs("fast", a_job(gpus=1), [("f", range(1))])
    choosy = runs("choosy", a_job(gpus=1, gpu_type="h100"), [("f", range(1, 2))])
    slow = runs("slow", a_job(gpus=1), [("s", range(1))])
    assert list(snapshot_of(fast, choosy, slow).paces.content_with_less) == ["fast"]


def test_what_a_job_got_done_counts_by_how_fast_it_is() -> None:
    fast, slow = runs("fast", a_job(gpus=1), [("f", range(1))]), runs("slow", a_job(gpus=1), [("s", range(1))])
    paces = snapshot_of(fast, slow).paces
    assert paces.at_usual_speed_ms(fast.id, HOUR_MS) == 2.5 * HOUR_MS
    assert paces.at_usual_speed_ms(slow.id, HOUR_MS) == HOUR_MS // 2


def test_without_known_speeds_all_jobs_are_as_fast_as_usual_and_none_is_slow() -> None:
    slow = runs("slow", a_job(gpus=1, checkpoint=True), [("s", range(1))])
    paces = snapshot_of(slow, policy=Policy()).paces
    assert paces.at_usual_speed_ms(slow.id, HOUR_MS) == HOUR_MS
    assert not paces.slow


def test_what_has_ended_is_forgotten() -> None:
    slow = runs("slow", a_job(gpus=1, checkpoint=True), [("s", range(1))])
    snapshot = snapshot_of(slow)
    assert slow.id in snapshot.paces.slow
    snapshot.finish(slow.id)
    assert not snapshot.paces.slow
    assert snapshot.paces.at_usual_speed_ms(slow.id, HOUR_MS) == HOUR_MS
