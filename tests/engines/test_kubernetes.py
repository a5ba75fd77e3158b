"""What only Kubernetes knows: what is done in it behind Muster's back. What all engines share is in `test_stories`.

The API server is pretended, unless `MUSTER_TEST_KUBECONFIG` names a real one; pods are processes of this machine.
"""

import pytest

from tests.e2e.conftest import eventually
from tests.engines.marks import Marks
from tests.engines.on_kubernetes import OnKubernetes
from tests.kube.cluster import REAL


@pytest.mark.engines_only
def test_workers_meet_at_the_name_of_the_first_pod(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    run = "echo at $MASTER_ADDR; getent hosts $MASTER_ADDR"
    job = on_kubernetes.submit(f"{{name: meets, workers: 2, resources: {{gpus: 8}}, run: '{run}'}}")
    on_kubernetes.await_state(job, "succeeded")
    for rank in ("0", "1"):
        on_kubernetes.await_output(job, rank, "127.0.0.1")
        said = on_kubernetes.output(job, rank)
        assert said.startswith("at muster-")
        assert ".train.svc\n" in said


def test_a_pod_that_somebody_deletes_cancels_the_job(on_kubernetes: OnKubernetes, marks: Marks) -> None:
    job = marks.begun(on_kubernetes)
    name = on_kubernetes.pod_on(on_kubernetes.placed(job)[1])
    on_kubernetes.cluster.admin.remove(on_kubernetes.cluster.path("pods", name))
    on_kubernetes.await_state(job, "cancelled")
    assert f"pod {name} was deleted in Kubernetes" in on_kubernetes.story(job)
    on_kubernetes.await_nothing_left()
    assert "told" in on_kubernetes.output(job)  # they had the time to save themselves


@pytest.mark.engines_only
def test_a_service_that_somebody_deletes_cancels_the_job(on_kubernetes: OnKubernetes, marks: Marks) -> None:
    job = marks.begun(on_kubernetes)
    (service,) = on_kubernetes.cluster.list("services")
    on_kubernetes.cluster.admin.remove(on_kubernetes.cluster.path("services", service["metadata"]["name"]))
    on_kubernetes.await_state(job, "cancelled")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_gang_that_is_evicted_goes_on_elsewhere(on_kubernetes: OnKubernetes, marks: Marks) -> None:
    job = marks.begun(on_kubernetes)
    assert on_kubernetes.cluster.evict_from(on_kubernetes.placed(job)[0])
    eventually(lambda: on_kubernetes.job(job)["attempt"] == 2, what="it starts again")
    assert "evicted in Kubernetes" in on_kubernetes.story(job)
    marks.end()
    on_kubernetes.await_state(job, "succeeded")
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_a_pod_that_runs_out_of_memory_is_said_to(on_kubernetes: OnKubernetes, marks: Marks) -> None:
    job = marks.begun(on_kubernetes)
    on_kubernetes.cluster.kubelets.kill(on_kubernetes.pod_on(on_kubernetes.placed(job)[0]), "OOMKilled")
    on_kubernetes.await_state(job, "failed")
    assert "ask for more memory" in on_kubernetes.story(job)
    on_kubernetes.await_nothing_left()


@pytest.mark.engines_only
def test_an_image_that_is_not_there_is_said_on_the_job(on_kubernetes: OnKubernetes) -> None:
    on_kubernetes.up()
    job = on_kubernetes.submit("{name: typo, resources: {gpus: 1}, image: 'registry.example/trian:1', run: echo here}")
    on_kubernetes.await_state(job, "failed")
    assert "image registry.example/trian:1 cannot be pulled" in on_kubernetes.story(job)
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


@pytest.mark.engines_only
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
def test_a_kubelet_that_hangs_loses_nothing_while_its_agents_talk(on_kubernetes: OnKubernetes, marks: Marks) -> None:
    job = marks.begun(on_kubernetes)
    node = on_kubernetes.placed(job)[0]
    on_kubernetes.cluster.kubelets.silence(node)
    on_kubernetes.await_node(node, "draining", "drained")
    assert on_kubernetes.job(job)["state"] == "running"
    on_kubernetes.cluster.kubelets.wake(node)
    on_kubernetes.await_node(node, "ready")
    marks.ended(on_kubernetes, job)


pretended = pytest.mark.skipif(bool(REAL), reason="only a pretended server can be told to fail")


@pretended
@pytest.mark.engines_only
def test_an_api_server_that_fails_for_a_while_ends_nothing(on_kubernetes: OnKubernetes, marks: Marks) -> None:
    server = on_kubernetes.cluster.server
    assert server is not None
    job = marks.begun(on_kubernetes)
    server.trouble.status = 503
    server.end_watches()
    waiting = on_kubernetes.submit("{name: waits, resources: {gpus: 1}, run: echo here}")
    eventually(lambda: on_kubernetes.job(waiting)["state"] in ("starting", "queued"), what="it waits")
    server.trouble.status = 0
    server.store.compact()  # nobody remembers what happened meanwhile: everything is listed again
    server.end_watches()
    on_kubernetes.await_state(waiting, "succeeded")
    assert on_kubernetes.job(job)["state"] == "running"
    marks.ended(on_kubernetes, job)


@pretended
@pytest.mark.parametrize("kind", ["services", "secrets", "pods"])
@pytest.mark.engines_only
def test_an_answer_that_is_lost_makes_nothing_twice(on_kubernetes: OnKubernetes, marks: Marks, kind: str) -> None:
    server = on_kubernetes.cluster.server
    assert server is not None
    on_kubernetes.up()
    server.trouble.lost_answers = {kind: 1}
    job = on_kubernetes.submit(marks.gang())
    on_kubernetes.await_state(job, "running")
    assert (len(on_kubernetes.pods()), on_kubernetes.job(job)["attempt"]) == (2, 1)
    assert server.trouble.lost_answers == {kind: 0}
    marks.end()
    on_kubernetes.await_state(job, "succeeded")
    on_kubernetes.await_nothing_left()


@pretended
@pytest.mark.engines_only
def test_a_garbage_collector_that_is_slow_leaves_nothing_in_the_end(on_kubernetes: OnKubernetes, marks: Marks) -> None:
    server = on_kubernetes.cluster.server
    assert server is not None
    job = marks.begun(on_kubernetes)
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
