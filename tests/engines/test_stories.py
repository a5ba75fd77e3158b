"""What happens to gangs on every engine: a real Slurm, a Kubernetes and a real Ray.

What only one of them knows is in the file of that engine. The API server of Kubernetes is pretended, unless
`MUSTER_TEST_KUBECONFIG` names a real one.
"""

import pytest

from tests.e2e.conftest import eventually
from tests.engines.marks import Marks
from tests.engines.server import OnEngine

FAILPOINTS = ("send.after", "submit.before", "submit.after")


def test_a_gang_runs_on_the_nodes_that_were_chosen_and_leaves_nothing_behind(engine: OnEngine, marks: Marks) -> None:
    job = marks.begun(engine)
    hardware = {name: (each["gpus"], each["gpu_type"]) for name, each in engine.nodes().items()}
    assert hardware == dict.fromkeys(engine.machines, (8, "h100"))
    placed, machines = engine.placed(job), list(engine.machines)
    assert placed in (machines[:2], machines[2:])  # one rack
    printed = engine.printed(job)
    ran = engine.shell.run("exec", job, "--rank", "1", "--", "sh", "-c", "echo beside $MUSTER_NODE; exit 7")
    assert (ran.returncode, ran.stdout) == (7, f"beside {placed[1]}\n"), ran.stderr
    marks.ended(engine, job)
    for rank, node in enumerate(placed):
        said = f"{node} rank {rank} of 2, GPUs 0,1,2,3,4,5, {printed}\nrank {rank} is done\n"
        assert engine.output(job, str(rank)) == said  # all of it came before its agent went


def test_an_agent_that_is_killed_is_begun_anew_and_hears_of_everything(engine: OnEngine, marks: Marks) -> None:
    job = marks.begun(engine)
    assert engine.kill_agent(engine.placed(job)[0])
    eventually(lambda: engine.shell.run("exec", job, "--", "true").returncode == 0, what="it is connected again")
    engine.shell.says("cancel", job)
    engine.await_state(job, "cancelled")
    engine.await_nothing_left()
    assert "told" in engine.output(job)


@pytest.mark.engines_only
def test_a_failure_of_the_program_is_its_own(engine: OnEngine) -> None:
    engine.up()
    job = engine.submit("{name: fails, workers: 2, resources: {gpus: 1}, run: exit $((MUSTER_RANK * 5))}")
    engine.await_state(job, "failed")
    assert engine.job(job)["exit_code"] == 5
    engine.await_nothing_left()


@pytest.mark.engines_only
def test_a_server_that_was_killed_finds_its_gang_again(engine: OnEngine, marks: Marks) -> None:
    job = marks.begun(engine)
    port, runs = engine.port, engine.runs()
    assert len(runs) > 0
    engine.kill_server()
    marks.end()
    assert engine.runs() == runs
    engine.up(port)
    marks.ended(engine, job)
    for rank in ("0", "1"):
        assert engine.output(job, rank).count(f"rank {rank} is done\n") == 1


@pytest.mark.parametrize("failpoint", FAILPOINTS)
@pytest.mark.engines_only
def test_a_server_that_dies_while_it_submits_starts_nothing_twice(
    engine: OnEngine, marks: Marks, failpoint: str
) -> None:
    engine.shell.variables["MUSTER_FAILPOINTS"] = f"{failpoint}=kill@1"
    engine.up()
    del engine.shell.variables["MUSTER_FAILPOINTS"]
    port = engine.port
    job = engine.submit(marks.gang())
    eventually(lambda: engine.has_died, what="the server has died")
    engine.up(port)
    engine.await_state(job, "running")
    marks.await_both()
    marks.end()
    engine.await_state(job, "succeeded")
    assert [len(marks.attempts(rank)) for rank in (0, 1)] == [1, 1]
    engine.await_nothing_left()


@pytest.mark.engines_only
def test_a_node_that_dies_is_lost_and_its_gang_starts_again_elsewhere(engine: OnEngine, marks: Marks) -> None:
    job = marks.begun(engine)
    before = engine.placed(job)
    engine.cluster.switch_off(before[1])
    engine.await_node(before[1], "down")
    eventually(lambda: engine.job(job)["attempt"] == 2, what="it starts again")
    engine.await_state(job, "running")
    assert not set(before) & set(engine.placed(job))  # one rack has a node left only
    marks.await_both(attempts=2)
    engine.cluster.switch_on(before[1])  # what lies on its disk is removed when it is back
    engine.await_ready(before[1])
    marks.ended(engine, job, attempts=2)


@pytest.mark.engines_only
def test_gpus_of_others_are_seen_and_taken_when_they_are_given_back(engine: OnEngine) -> None:
    with engine.others(gpus=5):
        engine.up()
        seen = "5 of its GPUs are used by others"
        eventually(lambda: engine.shell.says("nodes", "-o", "json").count(seen) == 4, what="they are seen")
        small = engine.submit("{name: small, resources: {gpus: 3}, run: echo fits}")
        large = engine.submit("{name: large, resources: {gpus: 4}, run: echo fits}")
        engine.await_state(small, "succeeded")
        assert engine.job(large)["state"] == "queued"
    engine.await_state(large, "succeeded")


@pytest.mark.engines_only
def test_a_node_that_joins_later_is_used_without_a_restart(engine: OnEngine) -> None:
    joining = engine.machines[3]
    with engine.without(joining):
        engine.up()
        engine.await_ready(*engine.machines[:3])
        assert joining not in engine.nodes()
    eventually(lambda: joining in engine.nodes(), what="it has joined")
    engine.await_ready(joining)
    wide = engine.submit("{name: wide, workers: 4, resources: {gpus: 8}, run: echo $MUSTER_NODE}")
    engine.await_state(wide, "succeeded")
    engine.await_nothing_left()
    assert [engine.output(wide, str(rank)).strip() for rank in range(4)] == list(engine.machines)
    assert engine.nodes()[joining]["domains"] == engine.nodes()[engine.machines[2]]["domains"]


@pytest.mark.engines_only
def test_where_there_is_no_python_a_job_fails_and_says_what_is_missing(engine: OnEngine) -> None:
    engine.python = "/nowhere/python3"
    engine.up()
    engine.await_ready()
    job = engine.submit("{name: bare, resources: {gpus: 1}, run: echo here}")
    engine.await_state(job, "failed")
    assert engine.job(job)["attempt"] == 1
    story = engine.story(job)
    assert "Python 3.11 or newer" in story
    assert "`python` of the engine" in story
    engine.await_nothing_left()
