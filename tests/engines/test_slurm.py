"""What only Slurm knows: what is done in it behind Muster's back. What all engines share is in `test_stories`."""

import pytest

from tests.e2e.conftest import eventually
from tests.engines.marks import Marks
from tests.engines.on_slurm import OnSlurm


def test_what_somebody_cancels_in_slurm_is_cancelled_here(on_slurm: OnSlurm, marks: Marks) -> None:
    job = marks.begun(on_slurm)
    ((number,),) = on_slurm.in_slurm("%A")
    on_slurm.cluster.run("scancel", number)
    on_slurm.await_state(job, "cancelled")
    assert f"cancelled in Slurm, job {number}" in on_slurm.shell.says("story", job)
    on_slurm.await_nothing_left()
    assert "told" in on_slurm.output(job)  # they had the time to save themselves


@pytest.mark.engines_only
def test_slurms_controller_may_be_restarted(on_slurm: OnSlurm, marks: Marks) -> None:
    job = marks.begun(on_slurm)
    on_slurm.cluster.stop_controller()
    waiting = on_slurm.submit("{name: waits, resources: {gpus: 1}, run: echo here}")
    on_slurm.cluster.start_controller()
    on_slurm.await_state(waiting, "succeeded")
    assert on_slurm.job(job)["state"] == "running"
    marks.ended(on_slurm, job)
    assert on_slurm.output(waiting) == "here\n"


@pytest.mark.engines_only
def test_a_gang_that_slurms_controller_has_forgotten_is_ended_before_it_starts_again(
    on_a_slurm_of_its_own: OnSlurm, marks: Marks
) -> None:
    on_slurm = on_a_slurm_of_its_own
    job = marks.begun(on_slurm)
    on_slurm.cluster.kill("slurmctld")
    for state in (on_slurm.cluster.folder / "state").glob("job_state*"):
        state.unlink()
    with on_slurm.cluster.configuration.open("a") as file:
        file.write("FirstJobId=100\n")  # nodes refuse the number of a job that they have killed
    on_slurm.cluster.start_controller()
    eventually(lambda: on_slurm.job(job)["attempt"] == 2, what="it starts again")
    marks.await_both(attempts=2)
    marks.ended(on_slurm, job, attempts=2)


def test_a_partition_that_is_not_there_is_said_at_the_start(on_slurm: OnSlurm) -> None:
    on_slurm.partition = "trian"
    assert "Slurm has no partition 'trian'" in on_slurm.up()
    assert on_slurm.nodes() == {}


WRONG = """
[[engines]]
name = "typo"
kind = "slurm"
partition = "train"
config = "/nowhere/slurm.conf"

[[engines]]
name = "elsewhere"
kind = "kubernetes"
kubeconfig = "/nowhere/kubeconfig"
image = "python:3.13"

[[engines]]
name = "gone"
kind = "ray"
address = "127.0.0.1:1"
driver = "/nowhere/python3"
"""


@pytest.mark.engines_only
def test_engines_that_are_configured_wrongly_are_said_and_keep_no_other_from_work(on_slurm: OnSlurm) -> None:
    right = on_slurm.configuration()
    on_slurm.configuration = lambda: right + WRONG  # type: ignore[method-assign]
    said = on_slurm.up()
    for problem in ("/nowhere/slurm.conf is not there", "/nowhere/kubeconfig cannot be used", "/nowhere/python3"):
        assert problem in said
    job = on_slurm.submit("{name: goes-on, workers: 2, resources: {gpus: 6}, run: echo here}")
    on_slurm.await_state(job, "succeeded")
    on_slurm.await_nothing_left()


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
