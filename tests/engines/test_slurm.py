"""Gangs in jobs of a real Slurm, and what is done there behind Muster's back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Shell, eventually
from tests.engines.conftest import OnSlurm
from tests.slurm_cluster import running_cluster
from tests.survival.slurm_strikes import SlurmStrikes

GANG = """
name: gang
workers: 2
resources: {gpus: 6}
topology: {within: rack}
max_duration: 2h
run: |
  echo $MUSTER_NODE rank $MUSTER_RANK of $MUSTER_WORLD, GPUs $MUSTER_GPUS, in $SLURM_JOB_ID$SLURM_NTASKS
  trap 'echo told; exit 143' TERM
  until [ -e END ]; do sleep 0.1; done
  echo rank $MUSTER_RANK is done
"""


def a_gang(end: Path) -> str:
    return GANG.replace("END", str(end))


def test_a_gang_runs_on_the_nodes_that_were_chosen_and_leaves_nothing_behind(on_slurm: OnSlurm) -> None:
    end = on_slurm.shell.folder / "end"
    on_slurm.up()
    assert {name: (each["gpus"], each["gpu_type"]) for name, each in on_slurm.nodes().items()} == dict.fromkeys(
        ("n1", "n2", "n3", "n4"), (8, "h100")
    )
    job = on_slurm.submit(a_gang(end))
    on_slurm.await_state(job, "running")
    placed = sorted({worker["node"] for worker in on_slurm.job(job)["workers"]})
    assert placed in (["n1", "n2"], ["n3", "n4"])  # one rack
    ((number, name, nodes, comment, state),) = on_slurm.in_slurm("%A", "%j", "%N", "%k", "%T")
    assert (name, state) == (f"muster-{job}-1", "RUNNING")
    assert nodes == f"n[{placed[0][1:]}-{placed[1][1:]}]"
    assert comment.startswith("muster ")
    ran = on_slurm.shell.run("exec", job, "--rank", "1", "--", "sh", "-c", "echo beside $MUSTER_NODE; exit 7")
    assert (ran.returncode, ran.stdout) == (7, f"beside {placed[1]}\n"), ran.stderr
    end.touch()
    on_slurm.await_state(job, "succeeded")
    said = f"{placed[1]} rank 1 of 2, GPUs 0,1,2,3,4,5, in {number}\nrank 1 is done\n"
    eventually(lambda: on_slurm.shell.says("logs", job, "--rank", "1") == said, what="its whole output is here")
    on_slurm.await_nothing_left()


def test_what_somebody_cancels_in_slurm_is_cancelled_here(on_slurm: OnSlurm) -> None:
    on_slurm.up()
    job = on_slurm.submit(a_gang(on_slurm.shell.folder / "end"))
    on_slurm.await_state(job, "running")
    ((number,),) = on_slurm.in_slurm("%A")
    on_slurm.cluster.run("scancel", number)
    on_slurm.await_state(job, "cancelled")
    assert f"cancelled in Slurm, job {number}" in on_slurm.shell.says("story", job)
    eventually(lambda: "told" in on_slurm.shell.says("logs", job), what="they had the time to save themselves")
    on_slurm.await_nothing_left()


@pytest.mark.engines_only
def test_a_failure_of_the_program_is_its_own(on_slurm: OnSlurm) -> None:
    on_slurm.up()
    job = on_slurm.submit("{name: fails, workers: 2, resources: {gpus: 1}, run: exit $((MUSTER_RANK * 5))}")
    on_slurm.await_state(job, "failed")
    assert on_slurm.job(job)["exit_code"] == 5
    on_slurm.await_nothing_left()


@pytest.mark.engines_only
def test_a_job_that_is_cancelled_here_leaves_slurm(on_slurm: OnSlurm) -> None:
    on_slurm.up()
    job = on_slurm.submit(a_gang(on_slurm.shell.folder / "end"))
    on_slurm.await_state(job, "running")
    on_slurm.shell.says("cancel", job)
    on_slurm.await_state(job, "cancelled")
    on_slurm.await_nothing_left()


def test_a_server_that_was_killed_finds_its_gang_again(on_slurm: OnSlurm) -> None:
    end = on_slurm.shell.folder / "end"
    on_slurm.up()
    job = on_slurm.submit(a_gang(end))
    on_slurm.await_state(job, "running")
    ((number,),) = on_slurm.in_slurm("%A")
    port = on_slurm.port
    on_slurm.kill_server()
    end.touch()
    on_slurm.up(port)
    on_slurm.await_state(job, "succeeded")
    found = on_slurm.job(job)
    assert found["attempt"] == 1
    for rank in ("0", "1"):
        on_slurm.await_output(job, rank, "is done")
        said = on_slurm.shell.says("logs", job, "--rank", rank)
        assert said.count(f"in {number}\n") == said.count(f"rank {rank} is done\n") == 1
    on_slurm.await_nothing_left()


@pytest.mark.parametrize("failpoint", ["send.after", "submit.before", "submit.after"])
@pytest.mark.engines_only
def test_a_server_that_dies_while_it_submits_starts_nothing_twice(on_slurm: OnSlurm, failpoint: str) -> None:
    end = on_slurm.shell.folder / "end"
    on_slurm.shell.variables["MUSTER_FAILPOINTS"] = f"{failpoint}=kill@1"
    on_slurm.up()
    del on_slurm.shell.variables["MUSTER_FAILPOINTS"]
    port = on_slurm.port
    marks = on_slurm.shell.folder / "marks"
    marks.mkdir()
    run = f"mkdir {marks}/$MUSTER_ATTEMPT-$MUSTER_RANK || touch {marks}/twice; until [ -e {end} ]; do sleep 0.1; done"
    job = on_slurm.submit(f"{{name: once, workers: 2, resources: {{gpus: 6}}, run: '{run}'}}")
    eventually(lambda: on_slurm.has_died, what="the server has died")
    on_slurm.up(port)
    on_slurm.await_state(job, "running")
    assert len(on_slurm.in_slurm("%A")) == 1
    end.touch()
    on_slurm.await_state(job, "succeeded")
    assert not (marks / "twice").exists()
    on_slurm.await_nothing_left()


@pytest.mark.engines_only
def test_slurms_controller_may_be_restarted(on_slurm: OnSlurm) -> None:
    end = on_slurm.shell.folder / "end"
    on_slurm.up()
    job = on_slurm.submit(a_gang(end))
    on_slurm.await_state(job, "running")
    on_slurm.cluster.stop_controller()
    waiting = on_slurm.submit("{name: waits, resources: {gpus: 1}, run: echo here}")
    on_slurm.cluster.start_controller()
    on_slurm.await_state(waiting, "succeeded")
    assert on_slurm.job(job)["state"] == "running"
    end.touch()
    on_slurm.await_state(job, "succeeded")
    assert on_slurm.job(job)["attempt"] == 1
    eventually(lambda: on_slurm.shell.says("logs", waiting) == "here\n", what="its output is here")


@pytest.fixture
def on_a_slurm_of_its_own(tmp_path: Path) -> Iterator[OnSlurm]:
    """A server over a Slurm that no other test needs afterwards."""
    shell = Shell(home=tmp_path / "home", folder=tmp_path)
    shell.home.mkdir(mode=0o700)
    with running_cluster(2, first=1) as cluster:
        yield OnSlurm(shell=shell, cluster=cluster)
        shell.run("down", "--jobs")


@pytest.mark.engines_only
def test_a_gang_that_slurms_controller_has_forgotten_is_ended_before_it_starts_again(
    on_a_slurm_of_its_own: OnSlurm,
) -> None:
    on_slurm = on_a_slurm_of_its_own
    end, marks = on_slurm.shell.folder / "end", on_slurm.shell.folder / "marks"
    marks.mkdir()
    on_slurm.up()
    alone = f"exec 9> {marks}/$MUSTER_RANK; flock -n 9 || touch {marks}/twice"
    run = f"{alone}; until [ -e {end} ]; do sleep 0.1; done"
    job = on_slurm.submit(f'{{name: gang, workers: 2, resources: {{gpus: 6}}, run: "{run}"}}')
    on_slurm.await_state(job, "running")
    on_slurm.cluster.kill("slurmctld")
    for state in (on_slurm.cluster.folder / "state").glob("job_state*"):
        state.unlink()
    with on_slurm.cluster.configuration.open("a") as file:
        file.write("FirstJobId=100\n")  # nodes refuse the number of a job that they have killed
    on_slurm.cluster.start_controller()
    eventually(lambda: on_slurm.job(job)["attempt"] == 2, what="it starts again")
    on_slurm.await_state(job, "running")
    assert not (marks / "twice").exists()
    end.touch()
    on_slurm.await_state(job, "succeeded")


def test_a_partition_that_is_not_there_is_said_at_the_start(on_slurm: OnSlurm) -> None:
    on_slurm.partition = "trian"
    assert "Slurm has no partition 'trian'" in on_slurm.up()
    assert on_slurm.nodes() == {}


@pytest.mark.engines_only
def test_a_node_that_slurm_drains_takes_no_work_until_it_is_resumed(on_slurm: OnSlurm) -> None:
    on_slurm.up()
    on_slurm.cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=fan is loud")
    eventually(lambda: on_slurm.nodes()["n1"]["state"] in ("draining", "drained"), what="it is drained")
    assert "fan is loud" in on_slurm.shell.says("nodes", "-o", "json")
    on_slurm.cluster.run("scontrol", "update", "nodename=n1", "state=resume")
    eventually(lambda: on_slurm.nodes()["n1"]["state"] == "ready", what="it is back")


@pytest.mark.engines_only
def test_an_operators_drain_is_not_undone_by_slurm(on_slurm: OnSlurm) -> None:
    on_slurm.up()
    on_slurm.shell.says("drain", "n1")
    eventually(lambda: on_slurm.nodes()["n1"]["state"] == "drained", what="it is drained")
    on_slurm.cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=fan is loud")
    on_slurm.cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=fan is loud")
    eventually(lambda: on_slurm.nodes()["n2"]["state"] == "drained", what="it is drained, too")
    on_slurm.cluster.run("scontrol", "update", "nodename=n[1-2]", "state=resume")
    eventually(lambda: on_slurm.nodes()["n2"]["state"] == "ready", what="it is back")
    assert on_slurm.nodes()["n1"]["state"] == "drained"


@pytest.mark.engines_only
def test_jobs_of_others_are_seen(on_slurm: OnSlurm) -> None:
    on_slurm.cluster.run("sbatch", "-o", "/dev/null", "-w", "n[1-4]", "--gres=gpu:5", "--wrap", "srun sleep 300")
    on_slurm.up()
    others = "5 of its GPUs are used by others"
    eventually(lambda: others in on_slurm.shell.says("nodes", "-o", "json"), what="they are seen")
    small = on_slurm.submit("{name: small, resources: {gpus: 3}, run: echo fits}")
    large = on_slurm.submit("{name: large, resources: {gpus: 4}, run: echo fits}")
    on_slurm.await_state(small, "succeeded")
    assert on_slurm.job(large)["state"] == "queued"
    on_slurm.cluster.run("scancel", "--me")
    on_slurm.await_state(large, "succeeded")


@pytest.mark.engines_only
def test_a_node_that_dies_is_lost_and_its_gang_starts_again_elsewhere(on_slurm: OnSlurm) -> None:
    end = on_slurm.shell.folder / "end"
    on_slurm.up()
    job = on_slurm.submit(a_gang(end))
    on_slurm.await_state(job, "running")
    before = sorted({worker["node"] for worker in on_slurm.job(job)["workers"]})
    on_slurm.cluster.switch_off(before[1])
    eventually(lambda: on_slurm.nodes()[before[1]]["state"] == "down", what="Slurm misses it")
    eventually(lambda: on_slurm.job(job)["attempt"] == 2, what="it starts again")
    on_slurm.await_state(job, "running")
    after = sorted({worker["node"] for worker in on_slurm.job(job)["workers"]})
    assert not set(before) & set(after)  # one rack has a node left only
    end.touch()
    on_slurm.await_state(job, "succeeded")
    on_slurm.await_nothing_left()


@pytest.mark.engines_only
def test_a_gang_with_different_shares_of_its_nodes_is_one_job_of_slurm(on_slurm: OnSlurm) -> None:
    end = on_slurm.shell.folder / "end"
    on_slurm.up()
    gang = f"{{name: uneven, workers: 5, resources: {{gpus: 2}}, run: 'until [ -e {end} ]; do sleep 0.1; done'}}"
    job = on_slurm.submit(gang)
    on_slurm.await_state(job, "running")
    assert len({number.partition("+")[0] for (number,) in on_slurm.in_slurm("%i")}) == 1
    end.touch()
    on_slurm.await_state(job, "succeeded")
    on_slurm.await_nothing_left()


def test_an_agent_that_is_killed_is_begun_anew_and_hears_of_everything(on_slurm: OnSlurm) -> None:
    on_slurm.up()
    job = on_slurm.submit(a_gang(on_slurm.shell.folder / "end"))
    on_slurm.await_state(job, "running")
    node = on_slurm.job(job)["workers"][0]["node"]
    assert SlurmStrikes(on_slurm.cluster, "").agent(node)
    eventually(lambda: on_slurm.shell.run("exec", job, "--", "true").returncode == 0, what="it is connected again")
    on_slurm.shell.says("cancel", job)
    on_slurm.await_state(job, "cancelled")
    on_slurm.await_nothing_left()
