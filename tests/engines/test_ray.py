"""What only Ray knows: what happens there behind Muster's back. What all engines share is in `test_stories`."""

import os
import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import eventually
from tests.engines.marks import Marks
from tests.engines.on_ray import OnRay
from tests.ray_cluster import ADDRESS


@pytest.mark.engines_only
def test_jobs_on_one_node_have_devices_of_their_own(on_ray: OnRay, marks: Marks) -> None:
    on_ray.up()
    run = f"echo $CUDA_VISIBLE_DEVICES; until [ -e {marks.folder}/end ]; do sleep 0.1; done"
    text = f"{{name: third, resources: {{gpus: 2}}, constraint: fast=yes, exclude: [n1, n2, n3], run: '{run}'}}"
    jobs = [on_ray.submit(text) for _ in range(4)]
    for job in jobs:
        on_ray.await_state(job, "running")
        eventually(lambda: on_ray.shell.type("logs", job).stdout != "", what="it has printed")  # noqa: B023
    shown = [device for job in jobs for device in on_ray.shell.says("logs", job).strip().split(",")]
    assert sorted(shown) == list("01234567")
    marks.end()
    for job in jobs:
        on_ray.await_state(job, "succeeded")


def test_a_keeper_that_is_killed_has_a_successor_and_nothing_happens_to_the_gang(on_ray: OnRay, marks: Marks) -> None:
    job = marks.begun(on_ray)
    on_ray.cluster.end_keepers()
    on_ray.await_ready()
    beside = on_ray.submit("{name: beside, workers: 4, resources: {gpus: 2}, run: echo here}")
    on_ray.await_state(beside, "succeeded")
    marks.ended(on_ray, job)


@pytest.mark.engines_only
def test_a_gang_of_which_everything_on_a_node_is_killed_starts_again(on_ray: OnRay, marks: Marks) -> None:
    job = marks.begun(on_ray)
    for process in on_ray.cluster.processes_on(on_ray.placed(job)[0]):
        os.kill(process, signal.SIGKILL)
    eventually(lambda: on_ray.job(job)["attempt"] == 2, what="it starts again")
    on_ray.await_state(job, "running")
    eventually(lambda: len(marks.attempts()) == 2, what="it has begun again")
    marks.ended(on_ray, job, attempts=2)


@pytest.mark.engines_only
def test_a_raylet_that_is_killed_takes_nothing_with_it(on_ray: OnRay, marks: Marks) -> None:
    job = marks.begun(on_ray)
    node = on_ray.placed(job)[0]
    os.kill(on_ray.cluster.raylet(node), signal.SIGKILL)
    eventually(lambda: "Ray has lost it" in on_ray.shell.says("nodes", "-o", "json"), what="Ray misses it")
    assert on_ray.nodes()[node]["state"] in ("draining", "drained")
    assert on_ray.job(job)["state"] == "running"
    on_ray.cluster.start_node(node)
    on_ray.await_ready(node)
    marks.ended(on_ray, job)


@pytest.mark.engines_only
def test_a_raylet_that_hangs_and_wakes_up_takes_nothing_with_it(on_ray: OnRay, marks: Marks) -> None:
    job = marks.begun(on_ray)
    node = on_ray.placed(job)[0]
    raylet = on_ray.cluster.raylet(node)
    os.kill(raylet, signal.SIGSTOP)
    eventually(lambda: "Ray has lost it" in on_ray.shell.says("nodes", "-o", "json"), what="Ray misses it")
    os.kill(raylet, signal.SIGCONT)
    eventually(lambda: not Path(f"/proc/{raylet}/cmdline").exists(), what="it sees that it is not wanted any more")
    on_ray.cluster.start_node(node)
    on_ray.await_ready(node)
    marks.ended(on_ray, job)


@pytest.mark.engines_only
def test_a_gang_of_one_that_loses_its_node_starts_again_elsewhere(on_ray: OnRay, marks: Marks) -> None:
    on_ray.up()
    run = f"until [ -e {marks.folder}/end ]; do sleep 0.1; done"
    job = on_ray.submit(f"{{name: one, resources: {{gpus: 8}}, run: '{run}'}}")
    on_ray.await_state(job, "running")
    (node,) = on_ray.placed(job)
    eventually(lambda: bool(on_ray.cluster.processes_on(node)), what="it has an agent")
    on_ray.cluster.switch_off(node)
    eventually(lambda: on_ray.job(job)["attempt"] == 2, what="it starts again")
    on_ray.await_state(job, "running")
    assert on_ray.placed(job) != [node]
    marks.end()
    on_ray.await_state(job, "succeeded")
    on_ray.cluster.start_node(node)
    on_ray.await_nothing_left()


@pytest.mark.engines_only
def test_a_node_that_hung_and_wakes_up_runs_nothing_for_long(on_ray: OnRay, marks: Marks) -> None:
    job = marks.begun(on_ray)
    before = on_ray.placed(job)
    raylet = on_ray.cluster.raylet(before[1])
    hanging = [*on_ray.cluster.below(raylet), *on_ray.cluster.processes_on(before[1])]
    for process in hanging:
        os.kill(process, signal.SIGSTOP)
    eventually(lambda: on_ray.job(job)["attempt"] == 2, what="it starts again")
    on_ray.await_state(job, "running")
    for process in hanging:
        os.kill(process, signal.SIGCONT)
    eventually(lambda: not Path(f"/proc/{raylet}/cmdline").exists(), what="its raylet is not wanted any more")
    on_ray.cluster.start_node(before[1])
    eventually(lambda: not on_ray.cluster.processes_on(before[1]), what="what it ran is ended")
    assert on_ray.job(job)["attempt"] == 2
    (marks.folder / "twice").unlink(missing_ok=True)  # the lock of the first attempt was held by what hung
    marks.end()
    on_ray.await_state(job, "succeeded")
    on_ray.await_nothing_left()


def test_a_head_that_is_not_there_is_said_at_the_start_and_the_rest_goes_on(on_ray: OnRay) -> None:
    on_ray.address = "127.0.0.1:6378"
    assert "nothing answers at 127.0.0.1:6378" in on_ray.up()
    assert on_ray.nodes() == {}


@pytest.mark.parametrize("is_server_killed", [False, True])
@pytest.mark.engines_only
def test_a_head_that_is_started_again_without_a_memory_has_its_gangs_again(
    on_a_ray_of_its_own: OnRay, marks: Marks, is_server_killed: bool
) -> None:
    on_ray = on_a_ray_of_its_own
    job = marks.begun(on_ray)
    port = on_ray.port
    on_ray.cluster.kill_head()
    if is_server_killed:
        on_ray.kill_server()
    eventually(lambda: not on_ray.cluster.raylets(), what="Ray ends its nodes")
    on_ray.cluster.start_head()
    if is_server_killed:
        on_ray.up(port)
    on_ray.cluster.start_node("n1")
    on_ray.cluster.start_node("n2")
    on_ray.await_ready("n1", "n2")
    assert on_ray.job(job)["state"] == "running"
    beside = on_ray.submit("{name: beside, workers: 2, resources: {gpus: 2}, run: echo $CUDA_VISIBLE_DEVICES}")
    on_ray.await_state(beside, "succeeded")
    on_ray.await_output(beside, "0", "6,7")  # those of the gang are not given to it
    marks.ended(on_ray, job)


@pytest.mark.engines_only
def test_a_head_that_is_away_disturbs_nobody(on_a_ray_of_its_own: OnRay, marks: Marks) -> None:
    on_ray = on_a_ray_of_its_own
    job = marks.begun(on_ray)
    on_ray.cluster.kill_head()
    eventually(lambda: f"nothing answers at {ADDRESS}" in on_ray.shell.says("nodes", "-o", "json"), what="it is missed")
    marks.end()
    on_ray.await_state(job, "succeeded")
    assert [marks.attempts(rank) for rank in (0, 1)] == [["1"], ["1"]]
    eventually(lambda: not any(map(on_ray.cluster.processes_on, on_ray.cluster.nodes)), what="nothing runs on any node")
