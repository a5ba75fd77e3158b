"""What the adapter asks an API server, what it makes of its answers, and that it may ask no more than it does."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.backends.allocations.engine import (
    AllocationPhase,
    EngineSilent,
    RequestRefused,
    SeenAllocation,
)
from muster.backends.kubernetes import engine as module
from muster.backends.kubernetes import watched
from muster.backends.kubernetes.engine import KubernetesEngine
from muster.backends.kubernetes.pods import STUCK_S
from muster.backends.kubernetes.settings import KubernetesSettings
from muster.model.job import Cause
from muster.private_files import write_private
from tests.contract.kube_world import an_engine
from tests.kube.api_server import MUSTER, Asked, PretendedServer
from tests.kube.client import Admin
from tests.kube.cluster import KubeCluster, write_kubeconfig
from tests.unit.backends.kubernetes.builders import a_request

RIGHTS = Path(__file__).parents[2] / "deploy" / "kubernetes" / "rbac.yaml"
NODE = {
    "metadata": {"name": "n1", "labels": {"muster-test": "yes"}},
    "status": {
        "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


class Site:
    """An adapter at a pretended server with one node, and without a kubelet."""

    def __init__(self, folder: Path) -> None:
        self.server = PretendedServer()
        self.admin = Admin(write_kubeconfig(folder, self.server.url, "admin"))
        (folder / "muster").mkdir()
        kubeconfig = write_kubeconfig(folder / "muster", self.server.url, MUSTER)
        self.server.store.add("namespaces", "", {"metadata": {"name": "muster"}})
        self.server.store.add("nodes", "", NODE)
        self.server.controllers.heard_s["n1"] = float("inf")
        cluster = KubeCluster(folder, kubeconfig, self.admin, None, self.server)  # type: ignore[arg-type]
        (folder / "allocations").mkdir()
        write_private(folder / "allocations" / "mark", "m1")
        self.engine = an_engine(cluster, folder, "http://127.0.0.1:1")

    def pods(self) -> list[dict[str, Any]]:
        return self.server.store.all("pods")

    def say(self, **status: object) -> None:
        """Say something of the one pod."""
        (pod,) = self.pods()
        self.server.store.patch(("pods", "muster", pod["metadata"]["name"]), {"status": status})

    def look(self) -> SeenAllocation:
        (seen,) = self.engine.look()
        return seen

    def await_look(self, is_it: Callable[[tuple[SeenAllocation, ...]], bool]) -> tuple[SeenAllocation, ...]:
        until_s = time.monotonic() + 20
        while not is_it(seen := self.engine.look()):
            self.reap()
            assert time.monotonic() < until_s, seen
        return seen

    def reap(self) -> None:
        """Do for pods that leave what a kubelet does."""
        for pod in self.pods():
            if "deletionTimestamp" in pod["metadata"]:
                self.server.store.delete(("pods", "muster", pod["metadata"]["name"]), {"gracePeriodSeconds": 0})

    def problem(self) -> str:
        """Why nothing can be said now."""
        try:
            self.engine.look()
        except EngineSilent as silent:
            return str(silent)
        return ""

    def await_problem(self, words: str) -> None:
        until_s = time.monotonic() + 20
        while bool(problem := self.problem()) is not bool(words):
            assert time.monotonic() < until_s, problem
        assert words in problem

    def close(self) -> None:
        self.engine.close()
        self.server.close()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(module, "BEHIND_S", 0.05)
    monkeypatch.setattr(module, "TRY_AGAIN_S", 0.01)
    monkeypatch.setattr(watched, "RETRY_MOST_S", 0.2)
    made = Site(tmp_path)
    try:
        yield made
    finally:
        made.close()


def is_over(seen: tuple[SeenAllocation, ...]) -> bool:
    """True when nothing is left."""
    return all(each.phase is AllocationPhase.ENDED and not each.needs_cancel for each in seen)


def rights() -> set[Asked]:
    """What the manifests allow, by namespace."""
    found = set()
    for document in yaml.safe_load_all(RIGHTS.read_text("utf-8")):
        for rule in document.get("rules", ()):
            namespace = document["metadata"].get("namespace", "")
            assert rule["apiGroups"] == [""]
            found |= {Asked(verb, kind, namespace) for kind in rule["resources"] for verb in rule["verbs"]}
    return found


def test_the_rights_are_exactly_what_is_asked_for(site: Site) -> None:
    site.server.allowed = rights()
    site.server.trouble.lost_answers = {"services": 1}  # then it has to look whether the service was made
    site.engine.inventory()
    name = site.engine.submit(a_request("n1"))
    assert site.look().phase is AllocationPhase.WAITING
    site.engine.cancel(name)
    site.await_look(is_over)
    assert site.server.asked == rights()


def test_one_right_less_is_said_with_what_to_do(site: Site) -> None:
    site.server.allowed = rights() - {Asked("create", "pods", "muster")}
    with pytest.raises(RequestRefused, match=re.escape("cannot create resource")) as refused:
        site.engine.submit(a_request("n1"))
    assert "deploy/kubernetes/rbac.yaml" in str(refused.value)
    site.await_look(is_over)  # what was made before is taken back


def test_what_is_asked_for_twice_is_there_once(site: Site) -> None:
    site.server.trouble.lost_answers = {"services": 1, "secrets": 1, "pods": 1}
    site.engine.submit(a_request("n1"))
    assert [len(site.server.store.all(kind)) for kind in ("services", "secrets", "pods")] == [1, 1, 1]
    site.engine.submit(a_request("n1"))
    assert [len(site.server.store.all(kind)) for kind in ("services", "secrets", "pods")] == [1, 1, 1]


def test_a_gang_that_was_made_halfway_is_found_and_ended(site: Site) -> None:
    site.server.trouble.unable = "pods"
    with pytest.raises(EngineSilent, match="etcd has no leader"):
        site.engine.submit(a_request("n1", "n1b"))
    site.server.trouble.unable = ""
    seen = site.look()
    assert (seen.id, seen.phase, seen.needs_cancel) == ("ab12", AllocationPhase.ENDED, True)
    site.engine.cancel(seen.engine_id)
    site.await_look(is_over)
    assert not site.server.store.all("secrets")


def test_pods_are_bound_to_the_node_that_was_chosen(site: Site) -> None:
    site.engine.submit(a_request("n1"))
    until_s = time.monotonic() + 10
    while not site.pods()[0]["spec"].get("nodeName"):
        assert time.monotonic() < until_s
        time.sleep(0.02)
    site.say(phase="Running")
    (seen,) = site.await_look(lambda seen: seen[0].phase is AllocationPhase.RUNNING)
    assert seen.nodes == ("n1",)
    (node,) = site.engine.inventory()
    assert node.gpus_used == 8


def test_a_gang_that_no_scheduler_can_place_is_given_up(site: Site) -> None:
    site.engine.submit(a_request("n7"))
    (seen,) = site.await_look(lambda seen: bool(seen[0].because))
    assert "finds no place for it (0/1 nodes are available" in seen.because
    site.engine._unable_s = {seen.id: time.monotonic() - STUCK_S}
    (seen,) = site.await_look(lambda seen: seen[0].needs_cancel)
    assert seen.cause is Cause.START_FAILURE


def test_gangs_of_other_musters_are_left_alone(site: Site) -> None:
    site.engine.submit(a_request("n1"))
    (service,) = site.server.store.all("services")
    site.server.store.patch(
        ("services", "muster", service["metadata"]["name"]), {"metadata": {"labels": {"muster/mark": "m2"}}}
    )
    (pod,) = site.pods()
    site.server.store.patch(
        ("pods", "muster", pod["metadata"]["name"]), {"metadata": {"labels": {"muster/mark": "m2"}}}
    )
    site.await_look(is_over)


def test_a_watch_goes_on_from_where_it_was_ended(site: Site) -> None:
    site.engine.inventory()
    lists = _count(site, "list")
    for spec in ({"unschedulable": True}, {"unschedulable": None}):
        site.server.end_watches()
        site.server.store.patch(("nodes", "", "n1"), {"spec": spec})
        until_s = time.monotonic() + 10
        wanted = "it is cordoned" if spec["unschedulable"] else ""
        while site.engine.inventory()[0].because != wanted:
            assert time.monotonic() < until_s
            time.sleep(0.02)
    assert _count(site, "list") == lists  # nothing had to be listed again


def test_a_version_that_is_forgotten_is_listed_again(site: Site) -> None:
    site.engine.submit(a_request("n1"))
    site.look()
    site.server.trouble.status = 503
    site.server.end_watches()
    site.server.store.delete(("services", "muster", "muster-ab12"), {})
    until_s = time.monotonic() + 10
    while site.pods():
        site.reap()
        assert time.monotonic() < until_s
        time.sleep(0.02)
    site.server.store.compact()
    site.server.trouble.status = 0
    site.await_problem("")
    site.await_look(is_over)
    assert site.engine.inventory()[0].node.name == "n1"


def test_silence_is_said_and_is_over_when_the_server_answers(site: Site) -> None:
    assert site.problem() == ""
    site.server.trouble.status = 500
    site.server.end_watches()
    site.await_problem("is not able to answer")
    site.server.trouble.status = 0
    site.await_problem("")


def test_many_nodes_are_listed_page_by_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "PAGE", "3")
    for number in range(2, 9):
        site.server.controllers.heard_s[f"n{number}"] = float("inf")
        site.server.store.add(
            "nodes", "", NODE | {"metadata": {"name": f"n{number}", "labels": {"muster-test": "yes"}}}
        )
    assert len(site.engine.inventory()) == 8


@pytest.mark.parametrize(
    ("change", "problem", "is_mistake"),
    [
        ({"namespace": "nowhere"}, 'namespaces "nowhere" not found', False),
        ({"gpu_resources": ("nvidia.com/gpu",), "image": ""}, "pods need an image", True),
    ],
)
def test_what_is_refused_is_said(site: Site, change: dict[str, Any], problem: str, is_mistake: bool) -> None:
    settings = KubernetesSettings(**{**_fields(site.engine), **change})
    other = KubernetesEngine(settings, mark=lambda: "m1", arrival=site.engine._arrival)
    try:
        with pytest.raises(RequestRefused, match=problem) as refused:
            other.submit(a_request("n1"))
        assert refused.value.is_mistake is is_mistake
    finally:
        other.close()


def test_a_quota_is_said_with_what_to_do(site: Site) -> None:
    site.server.store.add(
        "resourcequotas", "muster", {"metadata": {"name": "q"}, "spec": {"hard": {"requests.nvidia.com/gpu": "4"}}}
    )
    with pytest.raises(RequestRefused, match="the quota of the namespace is used up: ask for less") as refused:
        site.engine.submit(a_request("n1"))
    assert not refused.value.is_mistake  # it may have room later
    site.await_look(is_over)


def test_a_namespace_that_goes_takes_nothing(site: Site) -> None:
    site.server.store.patch(("namespaces", "", "muster"), {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    with pytest.raises(RequestRefused, match="the namespace is about to go"):
        site.engine.submit(a_request("n1"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be used"),
        ("not: [yaml", "cannot be used"),
        ("{apiVersion: v1, kind: Config}", "cannot be used"),
    ],
)
def test_a_kubeconfig_that_is_wrong_is_said(tmp_path: Path, text: str | None, problem: str) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    cluster = KubeCluster(tmp_path, file, None, None, None)  # type: ignore[arg-type]
    engine = an_engine(cluster, tmp_path, "")
    try:
        with pytest.raises(EngineSilent, match=problem):
            engine.inventory()
    finally:
        engine.close()


def test_nobody_who_listens_is_silence(tmp_path: Path) -> None:
    cluster = KubeCluster(tmp_path, write_kubeconfig(tmp_path, "http://127.0.0.1:9", "x"), None, None, None)  # type: ignore[arg-type]
    engine = an_engine(cluster, tmp_path, "")
    try:
        with pytest.raises(EngineSilent, match="does not answer"):
            engine.inventory()
    finally:
        engine.close()


def test_outside_of_a_cluster_there_is_no_service_account(tmp_path: Path) -> None:
    cluster = KubeCluster(tmp_path, None, None, None, None)  # type: ignore[arg-type]
    engine = an_engine(cluster, tmp_path, "")
    try:
        with pytest.raises(EngineSilent, match="the service account of this pod cannot be used"):
            engine.inventory()
    finally:
        engine.close()


def _count(site: Site, verb: str) -> int:
    return sum(each.verb == verb for each in site.server.requests)


def _fields(engine: KubernetesEngine) -> dict[str, Any]:
    settings = engine._settings
    return {name: getattr(settings, name) for name in settings.__slots__}
