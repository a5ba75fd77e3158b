"""Gangs in pods, and what is done in Kubernetes behind Muster's back.

The API server is pretended, unless `MUSTER_TEST_KUBECONFIG` names a real one; pods are processes of this machine.
"""

from pathlib import Path

import pytest

from tests.e2e.conftest import eventually
from tests.engines.conftest import OnKubernetes
from tests.kube.cluster import REAL

GANG = """
name: gang
workers: 2
resources: {gpus: 6}
topology: {within: rack}
max_duration: 2h
run: |
  echo $MUSTER_NODE rank $MUSTER_RANK of $MUSTER_WORLD, GPUs $MUSTER_GPUS, shared $(stat -f -c %T /dev/shm)
  trap 'echo told; exit 143' TERM
  until [ -e END ]; do sleep 0.1; done
  echo rank $MUSTER_RANK is done
"""


def a_gang(end: Path) -> str:
    return GANG.replace("END", str(end))


def a_running_gang(on_kubernetes: OnKubernetes) -> str:
    on_kubernetes.up()
    job = on_kubernetes.submit(a_gang(on_kubernetes.shell.folder / "end"))
    on_kubernetes.await_state(job, "running")
    return job


def test_a_gang_runs_on_the_nodes_that_were_chosen_and_leaves_nothing_behind(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    assert {name: (each["gpus"], each["gpu_type"]) for name, each in on_kubernetes.nodes().items()} == dict.fromkeys(
        ("k1", "k2", "k3", "k4"), (8, "h100")
    )
    job = on_kubernetes.submit(a_gang(on_kubernetes.shell.folder / "end"))
    on_kubernetes.await_state(job, "running")
    placed = on_kubernetes.placed(job)
    assert placed in (["k1", "k2"], ["k3", "k4"])  # one rack
    pods = on_kubernetes.pods()
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == placed
    assert {pod["metadata"]["labels"]["muster/job"] for pod in pods} == {job}
    ran = on_kubernetes.shell.run("exec", job, "--rank", "1", "--", "sh", "-c", "echo beside $MUSTER_NODE; exit 7")
    assert (ran.returncode, ran.stdout) == (7, f"beside {placed[1]}\n"), ran.stderr
    (on_kubernetes.shell.folder / "end").touch()
    on_kubernetes.await_state(job, "succeeded")
    said = f"{placed[1]} rank 1 of 2, GPUs 0,1,2,3,4,5, shared tmpfs\nrank 1 is done\n"
    eventually(lambda: on_kubernetes.shell.says("logs", job, "--rank", "1") == said, what="its whole output is here")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_workers_meet_at_the_name_of_the_first_pod(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    run = "echo at $MASTER_ADDR; getent hosts $MASTER_ADDR"
    job = on_kubernetes.submit(f"{{name: meets, workers: 2, resources: {{gpus: 8}}, run: '{run}'}}")
    on_kubernetes.await_state(job, "succeeded")
    for rank in ("0", "1"):
        on_kubernetes.await_output(job, rank, "127.0.0.1")
        said = on_kubernetes.shell.says("logs", job, "--rank", rank)
        assert said.startswith("at muster-")
        assert ".train.svc\n" in said


def test_a_pod_that_somebody_deletes_cancels_the_job(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    name = on_kubernetes.pod_on(on_kubernetes.placed(job)[1])
    on_kubernetes.cluster.admin.remove(on_kubernetes.cluster.path("pods", name))
    on_kubernetes.await_state(job, "cancelled")
    assert f"pod {name} was deleted in Kubernetes" in on_kubernetes.story(job)
    eventually(lambda: "told" in on_kubernetes.shell.says("logs", job), what="they had the time to save themselves")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_service_that_somebody_deletes_cancels_the_job(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    (service,) = on_kubernetes.cluster.list("services")
    on_kubernetes.cluster.admin.remove(on_kubernetes.cluster.path("services", service["metadata"]["name"]))
    on_kubernetes.await_state(job, "cancelled")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_gang_that_is_evicted_goes_on_elsewhere(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    name = on_kubernetes.pod_on(on_kubernetes.placed(job)[0])
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "drained"}
    path = on_kubernetes.cluster.path("pods", name)
    on_kubernetes.cluster.admin.status(path, {"conditions": [target]})
    on_kubernetes.cluster.admin.remove(path)
    eventually(lambda: on_kubernetes.job(job)["attempt"] == 2, what="it starts again")
    assert "evicted in Kubernetes" in on_kubernetes.story(job)
    (on_kubernetes.shell.folder / "end").touch()
    on_kubernetes.await_state(job, "succeeded")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_pod_that_runs_out_of_memory_is_said_to(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    on_kubernetes.cluster.kubelets.kill(on_kubernetes.pod_on(on_kubernetes.placed(job)[0]), "OOMKilled")
    on_kubernetes.await_state(job, "failed")
    assert "ask for more memory" in on_kubernetes.story(job)
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_failure_of_the_program_is_its_own(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    job = on_kubernetes.submit("{name: fails, workers: 2, resources: {gpus: 1}, run: exit $((MUSTER_RANK * 5))}")
    on_kubernetes.await_state(job, "failed")
    assert on_kubernetes.job(job)["exit_code"] == 5
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_job_that_is_cancelled_here_leaves_the_cluster(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    on_kubernetes.shell.says("cancel", job)
    on_kubernetes.await_state(job, "cancelled")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_server_that_was_killed_finds_its_gang_again(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    uids = {pod["metadata"]["uid"] for pod in on_kubernetes.pods()}
    port = on_kubernetes.port
    on_kubernetes.kill_server()
    (on_kubernetes.shell.folder / "end").touch()
    assert {pod["metadata"]["uid"] for pod in on_kubernetes.pods()} == uids
    on_kubernetes.up(port)
    on_kubernetes.await_state(job, "succeeded")
    assert on_kubernetes.job(job)["attempt"] == 1
    for rank in ("0", "1"):
        on_kubernetes.await_output(job, rank, "is done")
        assert on_kubernetes.shell.says("logs", job, "--rank", rank).count(" is done\n") == 1
    on_kubernetes.await_nothing_left()


@pytest.mark.parametrize("failpoint", ["send.after", "submit.before", "submit.after"])
@pytest.mark.engines_only
def test_a_server_that_dies_while_it_submits_starts_nothing_twice(on_kubernetes: OnKubernetes, failpoint: str) -> None:
    end, marks = on_kubernetes.shell.folder / "end", on_kubernetes.shell.folder / "marks"
    marks.mkdir()
    on_kubernetes.shell.variables["MUSTER_FAILPOINTS"] = f"{failpoint}=kill@1"
    on_kubernetes.up()
    del on_kubernetes.shell.variables["MUSTER_FAILPOINTS"]
    port = on_kubernetes.port
    run = f"mkdir {marks}/$MUSTER_ATTEMPT-$MUSTER_RANK || touch {marks}/twice; until [ -e {end} ]; do sleep 0.1; done"
    job = on_kubernetes.submit(f"{{name: once, workers: 2, resources: {{gpus: 6}}, run: '{run}'}}")
    eventually(lambda: on_kubernetes.has_died, what="the server has died")
    on_kubernetes.up(port)
    on_kubernetes.await_state(job, "running")
    assert len(on_kubernetes.cluster.list("services")) == 1
    end.touch()
    on_kubernetes.await_state(job, "succeeded")
    assert not (marks / "twice").exists()
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_an_image_that_is_not_there_is_said_on_the_job(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    job = on_kubernetes.submit("{name: typo, resources: {gpus: 1}, image: 'registry.example/trian:1', run: echo here}")
    on_kubernetes.await_state(job, "failed")
    assert "image registry.example/trian:1 cannot be pulled" in on_kubernetes.story(job)
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_an_image_without_python_fails_the_job_and_says_what_is_missing(on_kubernetes: OnKubernetes) -> None:
    text = on_kubernetes.configuration().replace('python = "PYTHON"', 'python = "/nowhere/python3"')
    on_kubernetes.configuration = lambda: text  # type: ignore[method-assign]
    on_kubernetes.up()
    job = on_kubernetes.submit("{name: bare, resources: {gpus: 1}, run: echo here}")
    on_kubernetes.await_state(job, "failed")
    assert "the image has no /nowhere/python3 that is Python 3.11 or newer" in on_kubernetes.story(job)
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_quota_of_the_namespace_is_said_on_the_job(on_kubernetes: OnKubernetes) -> None:
    cluster = on_kubernetes.cluster
    hard = {"requests.nvidia.com/gpu": "2"}
    cluster.admin.create(cluster.path("resourcequotas"), {"metadata": {"name": "small"}, "spec": {"hard": hard}})
    try:
        on_kubernetes.up()
        job = on_kubernetes.submit("{name: large, resources: {gpus: 4}, run: echo here}")
        eventually(lambda: "the quota of the namespace is used up" in on_kubernetes.story(job), what="it is said")
        on_kubernetes.shell.says("cancel", job)
        on_kubernetes.await_nothing_left()
    finally:
        cluster.admin.remove(cluster.path("resourcequotas", "small"))


def test_a_part_of_a_gpu_is_refused_with_a_reason(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    told = on_kubernetes.shell.says("submit", "-", code=3, input="{name: part, resources: {gpus: 0.5}, run: echo}")
    refused = on_kubernetes.shell.type("submit", "-", input="{name: part, resources: {gpus: 0.5}, run: echo}")
    assert "give whole ones" in told + refused.stderr


@pytest.mark.engines_only
def test_a_cordoned_node_takes_no_work_until_it_is_uncordoned(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    on_kubernetes.cluster.patch_node("k1", {"spec": {"unschedulable": True}})
    on_kubernetes.await_node("k1", "draining", "drained")
    assert "it is cordoned" in on_kubernetes.shell.says("nodes", "-o", "json")
    on_kubernetes.cluster.patch_node("k1", {"spec": {"unschedulable": None}})
    on_kubernetes.await_node("k1", "ready")


@pytest.mark.engines_only
def test_pods_of_others_are_seen(on_kubernetes: OnKubernetes) -> None:
    cluster = on_kubernetes.cluster
    for node in cluster.nodes:
        container = {
            "name": "busy",
            "image": "others:1",
            "command": ["sleep", "1000"],
            "volumeMounts": [],
            "resources": {"limits": {"nvidia.com/gpu": "5"}},
        }
        spec = {"nodeName": node, "containers": [container], "volumes": []}
        cluster.admin.create(cluster.path("pods"), {"metadata": {"name": f"busy-{node}"}, "spec": spec})
    on_kubernetes.up()
    others = "5 of its GPUs are used by others"
    eventually(lambda: others in on_kubernetes.shell.says("nodes", "-o", "json"), what="they are seen")
    small = on_kubernetes.submit("{name: small, resources: {gpus: 3}, run: echo fits}")
    large = on_kubernetes.submit("{name: large, resources: {gpus: 4}, run: echo fits}")
    on_kubernetes.await_state(small, "succeeded")
    assert on_kubernetes.job(large)["state"] == "queued"
    for node in cluster.nodes:
        cluster.admin.remove(cluster.path("pods", f"busy-{node}"), 0)
    on_kubernetes.await_state(large, "succeeded")


@pytest.mark.engines_only
def test_a_node_that_dies_is_lost_and_its_gang_starts_again_elsewhere(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    before = on_kubernetes.placed(job)
    on_kubernetes.cluster.kubelets.power_off(before[1])
    on_kubernetes.await_node(before[1], "down")
    eventually(lambda: on_kubernetes.job(job)["attempt"] == 2, what="it starts again")
    on_kubernetes.await_state(job, "running")
    assert not set(before) & set(on_kubernetes.placed(job))  # one rack has a node left only
    on_kubernetes.cluster.kubelets.wake(before[1])
    on_kubernetes.await_node(before[1], "ready")
    (on_kubernetes.shell.folder / "end").touch()
    on_kubernetes.await_state(job, "succeeded")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_kubelet_that_hangs_loses_nothing_while_its_agents_talk(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    node = on_kubernetes.placed(job)[0]
    on_kubernetes.cluster.kubelets.silence(node)
    on_kubernetes.await_node(node, "draining", "drained")
    assert on_kubernetes.job(job)["state"] == "running"
    on_kubernetes.cluster.kubelets.wake(node)
    on_kubernetes.await_node(node, "ready")
    (on_kubernetes.shell.folder / "end").touch()
    on_kubernetes.await_state(job, "succeeded")
    assert on_kubernetes.job(job)["attempt"] == 1
    on_kubernetes.await_nothing_left()


def test_an_agent_that_is_killed_is_begun_anew_and_hears_of_everything(on_kubernetes: OnKubernetes) -> None:
    job = a_running_gang(on_kubernetes)
    node = on_kubernetes.placed(job)[0]
    assert on_kubernetes.cluster.kubelets.kill_agent(node)
    eventually(lambda: on_kubernetes.shell.run("exec", job, "--", "true").returncode == 0, what="it is connected again")
    on_kubernetes.shell.says("cancel", job)
    on_kubernetes.await_state(job, "cancelled")
    on_kubernetes.await_nothing_left()


pretended = pytest.mark.skipif(bool(REAL), reason="only a pretended server can be told to fail")


@pretended
def test_an_api_server_that_fails_for_a_while_ends_nothing(on_kubernetes: OnKubernetes) -> None:
    server = on_kubernetes.cluster.server
    assert server is not None
    job = a_running_gang(on_kubernetes)
    server.trouble.status = 503
    server.end_watches()
    waiting = on_kubernetes.submit("{name: waits, resources: {gpus: 1}, run: echo here}")
    eventually(lambda: on_kubernetes.job(waiting)["state"] in ("starting", "queued"), what="it waits")
    server.trouble.status = 0
    server.store.compact()  # nobody remembers what happened meanwhile: everything is listed again
    server.end_watches()
    on_kubernetes.await_state(waiting, "succeeded")
    assert on_kubernetes.job(job)["state"] == "running"
    (on_kubernetes.shell.folder / "end").touch()
    on_kubernetes.await_state(job, "succeeded")
    assert on_kubernetes.job(job)["attempt"] == 1
    on_kubernetes.await_nothing_left()


@pretended
@pytest.mark.parametrize("kind", ["services", "secrets", "pods"])
@pytest.mark.engines_only
def test_an_answer_that_is_lost_makes_nothing_twice(on_kubernetes: OnKubernetes, kind: str) -> None:
    server = on_kubernetes.cluster.server
    assert server is not None
    on_kubernetes.up()
    server.trouble.lost_answers = {kind: 1}
    job = on_kubernetes.submit(a_gang(on_kubernetes.shell.folder / "end"))
    on_kubernetes.await_state(job, "running")
    assert (len(on_kubernetes.pods()), on_kubernetes.job(job)["attempt"]) == (2, 1)
    assert server.trouble.lost_answers == {kind: 0}
    (on_kubernetes.shell.folder / "end").touch()
    on_kubernetes.await_state(job, "succeeded")
    on_kubernetes.await_nothing_left()


@pretended
@pytest.mark.engines_only
def test_a_garbage_collector_that_is_slow_leaves_nothing_in_the_end(on_kubernetes: OnKubernetes) -> None:
    server = on_kubernetes.cluster.server
    assert server is not None
    job = a_running_gang(on_kubernetes)
    server.controllers.collects = False
    server.trouble.slow_s = 0.3
    on_kubernetes.shell.says("cancel", job)
    on_kubernetes.await_state(job, "cancelled")
    server.controllers.collects = True
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_kubeconfig_that_is_wrong_is_said_at_the_start(on_kubernetes: OnKubernetes) -> None:
    text = on_kubernetes.configuration().replace(str(on_kubernetes.cluster.kubeconfig), "no-such-file.yaml")
    on_kubernetes.configuration = lambda: text  # type: ignore[method-assign]
    said = on_kubernetes.up()
    assert "no-such-file.yaml cannot be used" in said
    assert on_kubernetes.nodes() == {}


def test_a_token_that_was_revoked_is_said_at_the_start(on_kubernetes: OnKubernetes) -> None:
    if on_kubernetes.cluster.server is not None:
        on_kubernetes.cluster.server.trouble.status = 401
        assert "Kubernetes does not let Muster in" in on_kubernetes.up()
        assert on_kubernetes.nodes() == {}
