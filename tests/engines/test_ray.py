"""Gangs on the nodes of a real Ray, and what happens there behind Muster's back."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell, eventually
from tests.engines.on_ray import OnRay
from tests.ray_cluster import ADDRESS, RayCluster, ray_python, running_ray

GANG = """
name: gang
workers: 2
resources: {gpus: 6}
topology: {within: rack}
max_duration: 2h
run: |
  exec 9> MARKS/alone-$MUSTER_RANK
  flock -n 9 || touch MARKS/twice
  echo $MUSTER_ATTEMPT >> MARKS/ledger-$MUSTER_RANK
  echo $MUSTER_NODE rank $MUSTER_RANK of $MUSTER_WORLD, GPUs $MUSTER_GPUS, $(env | grep -c ^RAY_) of Ray
  trap 'echo told; exit 143' TERM
  until [ -e MARKS/end ]; do sleep 0.1 9>&-; done
  echo rank $MUSTER_RANK is done
"""

OTHERS = """
import ray, sys, time
ray.init("127.0.0.1:6379", log_to_driver=False, logging_level="ERROR")
class Other:
    pass
kept = [ray.remote(Other).options(num_gpus=5, num_cpus=0).remote() for _ in range(int(sys.argv[1]))]
ray.get([each.__ray_ready__.remote() for each in kept])
print("there", flush=True)
sys.stdin.read()
"""


class Marks:
    """What the workers of a gang have done, kept by themselves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "marks"
        self.folder.mkdir()

    @property
    def gang(self) -> str:
        return GANG.replace("MARKS", str(self.folder))

    def end(self) -> None:
        """Have the workers end."""
        (self.folder / "end").touch()

    def attempts(self, rank: int = 0) -> list[str]:
        """In which attempts a rank has run. Fails if it ever ran twice at a time."""
        assert not (self.folder / "twice").exists()
        return (self.folder / f"ledger-{rank}").read_text("utf-8").split()


@contextmanager
def a_server(folder: Path, cluster: RayCluster) -> Iterator[OnRay]:
    shell = Shell(home=folder / "home", folder=folder)
    shell.home.mkdir(mode=0o700)
    found = OnRay(shell=shell, cluster=cluster)
    with cluster.inside():
        try:
            yield found
        finally:
            shell.run("down", "--jobs")
            cluster.repair()


@pytest.fixture(scope="session")
def grid() -> Iterator[RayCluster]:
    """A Ray with four nodes in two racks."""
    with running_ray(4, first=1, racks={"n1": "r1", "n2": "r1", "n3": "r2", "n4": "r2"}) as cluster:
        yield cluster


@pytest.fixture
def on_ray(grid: RayCluster, tmp_path: Path) -> Iterator[OnRay]:
    """A server over it. What it runs there ends with the test."""
    with a_server(tmp_path, grid) as found:
        yield found


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    return Marks(tmp_path)


def begun(on_ray: OnRay, marks: Marks) -> str:
    """A gang that runs."""
    on_ray.up()
    job = on_ray.submit(marks.gang)
    on_ray.await_state(job, "running")
    eventually(lambda: len(list(marks.folder.glob("ledger-*"))) == 2, what="both have begun")
    return job


def ended(on_ray: OnRay, marks: Marks, job: str, attempts: int = 1) -> None:
    """The gang ends well, after so many attempts, and leaves nothing."""
    marks.end()
    on_ray.await_state(job, "succeeded")
    assert on_ray.job(job)["attempt"] == attempts
    expected = [str(number) for number in range(1, attempts + 1)]
    assert [marks.attempts(rank) for rank in (0, 1)] == [expected, expected]
    on_ray.await_nothing_left()


def placed(on_ray: OnRay, job: str) -> list[str]:
    return sorted({worker["node"] for worker in on_ray.job(job)["workers"]})


def test_a_gang_runs_on_the_nodes_that_were_chosen_and_leaves_nothing_behind(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    assert {name: (each["gpus"], each["gpu_type"]) for name, each in on_ray.nodes().items()} == dict.fromkeys(
        ("n1", "n2", "n3", "n4"), (8, "h100")
    )
    assert "fast=yes" in on_ray.shell.says("nodes", "-o", "json")
    nodes = placed(on_ray, job)
    assert nodes in (["n1", "n2"], ["n3", "n4"])  # one rack
    assert {node for node in on_ray.cluster.nodes if on_ray.cluster.agents(node)} == set(nodes)
    ran = on_ray.shell.run("exec", job, "--rank", "1", "--", "sh", "-c", "echo beside $MUSTER_NODE; exit 7")
    assert (ran.returncode, ran.stdout) == (7, f"beside {nodes[1]}\n"), ran.stderr
    ended(on_ray, marks, job)
    said = f"{nodes[1]} rank 1 of 2, GPUs 0,1,2,3,4,5, 0 of Ray\nrank 1 is done\n"
    eventually(lambda: on_ray.shell.says("logs", job, "--rank", "1") == said, what="its whole output is here")


@pytest.mark.engines_only
def test_a_failure_of_the_program_is_its_own(on_ray: OnRay) -> None:
    on_ray.up()
    job = on_ray.submit("{name: fails, workers: 2, resources: {gpus: 1}, run: exit $((MUSTER_RANK * 5))}")
    on_ray.await_state(job, "failed")
    assert on_ray.job(job)["exit_code"] == 5
    on_ray.await_nothing_left()


@pytest.mark.engines_only
def test_a_job_that_is_cancelled_leaves_the_nodes(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    on_ray.shell.says("cancel", job)
    on_ray.await_state(job, "cancelled")
    eventually(lambda: "told" in on_ray.shell.type("logs", job).stdout, what="they had the time to save themselves")
    on_ray.await_nothing_left()


@pytest.mark.engines_only
def test_jobs_on_one_node_have_devices_of_their_own(on_ray: OnRay, marks: Marks) -> None:
    on_ray.up()
    run = f"echo $CUDA_VISIBLE_DEVICES; until [ -e {marks.folder}/end ]; do sleep 0.1; done"
    text = f"{{name: third, resources: {{gpus: 2}}, constraint: fast=yes, exclude: [n2, n3, n4], run: '{run}'}}"
    jobs = [on_ray.submit(text) for _ in range(4)]
    for job in jobs:
        on_ray.await_state(job, "running")
        eventually(lambda: on_ray.shell.type("logs", job).stdout != "", what="it has printed")  # noqa: B023
    shown = [device for job in jobs for device in on_ray.shell.says("logs", job).strip().split(",")]
    assert sorted(shown) == list("01234567")
    marks.end()
    for job in jobs:
        on_ray.await_state(job, "succeeded")


@pytest.mark.engines_only
def test_a_server_that_was_killed_finds_its_gang_again(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    port = on_ray.port
    on_ray.kill_server()
    on_ray.up(port)
    ended(on_ray, marks, job)
    for rank in ("0", "1"):
        on_ray.await_output(job, rank, f"rank {rank} is done")


@pytest.mark.parametrize("failpoint", ["send.after", "submit.before", "submit.after"])
@pytest.mark.engines_only
def test_a_server_that_dies_while_it_submits_starts_nothing_twice(on_ray: OnRay, marks: Marks, failpoint: str) -> None:
    on_ray.shell.variables["MUSTER_FAILPOINTS"] = f"{failpoint}=kill@1"
    on_ray.up()
    del on_ray.shell.variables["MUSTER_FAILPOINTS"]
    port = on_ray.port
    server = Path(f"/proc/{on_ray._told['pid']}/cmdline")
    job = on_ray.submit(marks.gang)
    eventually(lambda: not server.exists(), what="the server has died")
    on_ray.up(port)
    on_ray.await_state(job, "running")
    eventually(lambda: len(list(marks.folder.glob("ledger-*"))) == 2, what="both have begun")
    marks.end()
    on_ray.await_state(job, "succeeded")
    assert [len(marks.attempts(rank)) for rank in (0, 1)] == [1, 1]
    on_ray.await_nothing_left()


def test_a_keeper_that_is_killed_has_a_successor_and_nothing_happens_to_the_gang(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    on_ray.cluster.end_keepers()
    on_ray.await_ready()
    beside = on_ray.submit("{name: beside, workers: 4, resources: {gpus: 2}, run: echo here}")
    on_ray.await_state(beside, "succeeded")
    ended(on_ray, marks, job)


@pytest.mark.engines_only
def test_an_agent_that_is_killed_is_begun_anew(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    agents = [each for node in placed(on_ray, job) for each in on_ray.cluster.agents(node) if is_agent(each)]
    assert agents
    os.kill(agents[0], signal.SIGKILL)
    eventually(lambda: on_ray.shell.run("exec", job, "--", "true").returncode == 0, what="it is connected again")
    ended(on_ray, marks, job)


@pytest.mark.engines_only
def test_a_gang_of_which_everything_on_a_node_is_killed_starts_again(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    for process in on_ray.cluster.agents(placed(on_ray, job)[0]):
        os.kill(process, signal.SIGKILL)
    eventually(lambda: on_ray.job(job)["attempt"] == 2, what="it starts again")
    on_ray.await_state(job, "running")
    eventually(lambda: len(marks.attempts()) == 2, what="it has begun again")
    ended(on_ray, marks, job, attempts=2)


@pytest.mark.engines_only
def test_a_raylet_that_is_killed_takes_nothing_with_it(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    node = placed(on_ray, job)[0]
    os.kill(on_ray.cluster.raylet(node), signal.SIGKILL)
    eventually(lambda: "Ray has lost it" in on_ray.shell.says("nodes", "-o", "json"), what="Ray misses it")
    assert on_ray.nodes()[node]["state"] in ("draining", "drained")
    assert on_ray.job(job)["state"] == "running"
    on_ray.cluster.start_node(node)
    on_ray.await_ready(node)
    ended(on_ray, marks, job)


@pytest.mark.engines_only
def test_a_raylet_that_hangs_and_wakes_up_takes_nothing_with_it(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    node = placed(on_ray, job)[0]
    raylet = on_ray.cluster.raylet(node)
    os.kill(raylet, signal.SIGSTOP)
    eventually(lambda: "Ray has lost it" in on_ray.shell.says("nodes", "-o", "json"), what="Ray misses it")
    os.kill(raylet, signal.SIGCONT)
    eventually(lambda: not Path(f"/proc/{raylet}/cmdline").exists(), what="it sees that it is not wanted any more")
    on_ray.cluster.start_node(node)
    on_ray.await_ready(node)
    ended(on_ray, marks, job)


@pytest.mark.engines_only
def test_a_node_that_dies_is_lost_and_its_gang_starts_again_elsewhere(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    before = placed(on_ray, job)
    on_ray.cluster.switch_off(before[1])
    eventually(lambda: on_ray.nodes()[before[1]]["state"] == "down", what="Ray misses it")
    eventually(lambda: on_ray.job(job)["attempt"] == 2, what="it starts again")
    on_ray.await_state(job, "running")
    assert not set(before) & set(placed(on_ray, job))  # one rack has a node left only
    eventually(lambda: len(marks.attempts(1)) == 2, what="it has begun again")
    on_ray.cluster.start_node(before[1])  # what lies on its disk is removed when it is back
    on_ray.await_ready(before[1])
    ended(on_ray, marks, job, attempts=2)


@pytest.mark.engines_only
def test_a_gang_of_one_that_loses_its_node_starts_again_elsewhere(on_ray: OnRay, marks: Marks) -> None:
    on_ray.up()
    run = f"until [ -e {marks.folder}/end ]; do sleep 0.1; done"
    job = on_ray.submit(f"{{name: one, resources: {{gpus: 8}}, run: '{run}'}}")
    on_ray.await_state(job, "running")
    (node,) = placed(on_ray, job)
    eventually(lambda: bool(on_ray.cluster.agents(node)), what="it has an agent")
    on_ray.cluster.switch_off(node)
    eventually(lambda: on_ray.job(job)["attempt"] == 2, what="it starts again")
    on_ray.await_state(job, "running")
    assert placed(on_ray, job) != [node]
    marks.end()
    on_ray.await_state(job, "succeeded")
    on_ray.cluster.start_node(node)
    on_ray.await_nothing_left()


@pytest.mark.engines_only
def test_a_node_that_hung_and_wakes_up_runs_nothing_for_long(on_ray: OnRay, marks: Marks) -> None:
    job = begun(on_ray, marks)
    before = placed(on_ray, job)
    raylet = on_ray.cluster.raylet(before[1])
    hanging = [*on_ray.cluster.below(raylet), *on_ray.cluster.agents(before[1])]
    for process in hanging:
        os.kill(process, signal.SIGSTOP)
    eventually(lambda: on_ray.job(job)["attempt"] == 2, what="it starts again")
    on_ray.await_state(job, "running")
    for process in hanging:
        os.kill(process, signal.SIGCONT)
    eventually(lambda: not Path(f"/proc/{raylet}/cmdline").exists(), what="its raylet is not wanted any more")
    on_ray.cluster.start_node(before[1])
    eventually(lambda: not on_ray.cluster.agents(before[1]), what="what it ran is ended")
    assert on_ray.job(job)["attempt"] == 2
    (marks.folder / "twice").unlink(missing_ok=True)  # the lock of the first attempt was held by what hung
    marks.end()
    on_ray.await_state(job, "succeeded")
    on_ray.await_nothing_left()


@pytest.mark.engines_only
def test_gpus_of_others_are_seen_and_taken_when_they_are_given_back(on_ray: OnRay) -> None:
    command = [str(ray_python()), "-c", OTHERS, "4"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as others:
        assert others.stdin is not None
        assert others.stdout is not None
        assert others.stdout.readline() == "there\n"
        on_ray.up()
        seen = "5 of its GPUs are used by others"
        eventually(lambda: seen in on_ray.shell.says("nodes", "-o", "json"), what="they are seen")
        small = on_ray.submit("{name: small, resources: {gpus: 3}, run: echo $CUDA_VISIBLE_DEVICES}")
        large = on_ray.submit("{name: large, resources: {gpus: 4}, run: echo fits}")
        on_ray.await_state(small, "succeeded")
        on_ray.await_output(small, "0", "5,6,7")
        assert on_ray.job(large)["state"] == "queued"
        others.stdin.close()
    on_ray.await_state(large, "succeeded")


def test_a_head_that_is_not_there_is_said_at_the_start_and_the_rest_goes_on(on_ray: OnRay) -> None:
    on_ray.address = "127.0.0.1:6378"
    assert "nothing answers at 127.0.0.1:6378" in on_ray.up()
    assert on_ray.nodes() == {}


@pytest.fixture
def on_a_ray_of_its_own(tmp_path: Path) -> Iterator[OnRay]:
    """A server over a Ray that no other test needs afterwards."""
    with running_ray(2, first=1) as cluster, a_server(tmp_path, cluster) as found:
        yield found


@pytest.mark.parametrize("is_server_killed", [False, True])
@pytest.mark.engines_only
def test_a_head_that_is_started_again_without_a_memory_has_its_gangs_again(
    on_a_ray_of_its_own: OnRay, marks: Marks, is_server_killed: bool
) -> None:
    on_ray = on_a_ray_of_its_own
    job = begun(on_ray, marks)
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
    ended(on_ray, marks, job)


@pytest.mark.engines_only
def test_a_head_that_is_away_disturbs_nobody(on_a_ray_of_its_own: OnRay, marks: Marks) -> None:
    on_ray = on_a_ray_of_its_own
    job = begun(on_ray, marks)
    on_ray.cluster.kill_head()
    eventually(lambda: f"nothing answers at {ADDRESS}" in on_ray.shell.says("nodes", "-o", "json"), what="it is missed")
    ended_without_ray(on_ray, marks, job)


def ended_without_ray(on_ray: OnRay, marks: Marks, job: str) -> None:
    marks.end()
    on_ray.await_state(job, "succeeded")
    assert [marks.attempts(rank) for rank in (0, 1)] == [["1"], ["1"]]
    eventually(lambda: not any(map(on_ray.cluster.agents, on_ray.cluster.nodes)), what="nothing runs on any node")


def is_agent(process: int) -> bool:
    """True for an agent, and not for its supervisor, which is a copy of it."""
    words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    if b"--post" not in words or b"--home" not in words or words[0] == b"sh":
        return False
    home = Path(words[words.index(b"--home") + 1].decode())
    known = [json.loads(each.read_text("utf-8"))["pid"] for each in home.glob("nodes/*/supervisor.json")]
    return process not in known
