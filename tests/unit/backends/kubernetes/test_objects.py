"""What a gang is made of."""

import base64
import json
import re
from dataclasses import replace

import pytest

from muster.backends.allocations.engine import AllocationId, RequestRefused
from muster.backends.kubernetes import objects
from muster.backends.kubernetes.settings import KubernetesSettings, Toleration
from muster.model.ids import JobId, NodeName
from muster.model.spec import Mount
from tests.unit.backends.kubernetes.builders import ARRIVAL, SETTINGS, Object, a_request

OWNER = {"metadata": {"name": "muster-ab12", "uid": "uid-s"}}
DNS_LABEL = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def pods(*nodes: str, settings: KubernetesSettings = SETTINGS, **details: object) -> list[Object]:
    request = a_request(*nodes, **details)  # type: ignore[arg-type]
    return list(objects.pods(request, ARRIVAL, settings, "m1", OWNER, {}))


def test_each_node_has_a_pod_that_only_this_node_can_have() -> None:
    first, second = pods("n1", "n2")
    chosen = first["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert chosen == {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    }
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("muster-ab12-n1", "muster-ab12-n2")
    assert "nodeName" not in first["spec"]  # the scheduler counts it as any other pod
    assert first["spec"]["restartPolicy"] == "Never"
    assert first["spec"]["automountServiceAccountToken"] is False
    assert first["spec"]["terminationGracePeriodSeconds"] == 60 + objects.MARGIN_S
    assert first["spec"]["activeDeadlineSeconds"] == 7_261


def test_labels_lead_back_and_owners_lead_to_the_end() -> None:
    service = objects.service(a_request("n1", "n2"), "m1")
    secret = objects.secret(a_request(), ARRIVAL, "m1", OWNER)
    (pod,) = pods()
    for each in (service, secret, pod):
        assert each["metadata"]["labels"] == {
            "app.kubernetes.io/managed-by": "muster",
            "muster/mark": "m1",
            "muster/allocation": "ab12",
            "muster/job": "job-1",
            "muster/attempt": "2",
        }
    for each in (secret, pod):
        (owner,) = each["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["blockOwnerDeletion"]) == ("Service", "uid-s", True)
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["metadata"]["annotations"] == {"muster/nodes": "2"}


def test_the_token_is_in_the_secret_and_nowhere_else() -> None:
    secret = objects.secret(a_request(), replace(ARRIVAL, authorities="PEM"), "m1", OWNER)
    found = {name: base64.b64decode(content) for name, content in secret["data"].items()}
    assert found == {"token": b"secret", "agent.pyz": b"PK", "ca.pem": b"PEM"}
    assert "secret" not in json.dumps(pods()).replace("secretName", "").replace('"secret"', "")


def test_gpus_cpus_and_memory_are_asked_for_and_limited() -> None:
    (pod,) = pods()
    (container,) = pod["spec"]["containers"]
    asked = {"cpu": "3500m", "memory": str(1 << 30), "nvidia.com/gpu": "8"}
    assert container["resources"] == {"requests": asked, "limits": asked}
    assert {"name": "CUDA_VISIBLE_DEVICES", "value": "0,1,2,3,4,5,6,7"} in container["env"]
    (without,) = pods(gpus=0)
    assert "nvidia.com/gpu" not in without["spec"]["containers"][0]["resources"]["limits"]


def test_a_job_that_asks_for_no_cpus_is_not_limited_to_one() -> None:
    request = a_request()
    share = replace(request.shares[0], cpus=1, cpu_milli=0, memory_bytes=0)
    (pod,) = objects.pods(
        replace(request, shares=(share,)), ARRIVAL, SETTINGS, "m1", OWNER, {NodeName("n1"): "amd.com/gpu"}
    )
    limits = pod["spec"]["containers"][0]["resources"]
    assert limits == {"requests": {"cpu": "1", "amd.com/gpu": "8"}, "limits": {"amd.com/gpu": "8"}}


def test_shared_memory_has_the_size_that_is_configured() -> None:
    (pod,) = pods(settings=replace(SETTINGS, shm_bytes=1 << 35))
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert volumes["shm"]["emptyDir"] == {"medium": "Memory", "sizeLimit": str(1 << 35)}
    places = {each["name"]: each["mountPath"] for each in pod["spec"]["containers"][0]["volumeMounts"]}
    assert places["shm"] == "/dev/shm"
    assert volumes["scratch"]["emptyDir"] == {}
    (kept,) = pods(settings=replace(SETTINGS, scratch="/mnt/nvme"))
    assert {"path": "/mnt/nvme", "type": "DirectoryOrCreate"} in [
        each.get("hostPath") for each in kept["spec"]["volumes"]
    ]


def test_mounts_are_folders_of_the_node_or_claims() -> None:
    mounts = (
        Mount(source="/data", target="/in", read_only=True),
        Mount(source="pvc:runs", target="/out"),
        Mount(source="pvc:sets/images", target="/sets", read_only=True),
    )
    (pod,) = pods(mounts=mounts)
    assert pod["spec"]["volumes"][-3:] == [
        {"name": "mount-0", "hostPath": {"path": "/data", "type": "Directory"}},
        {"name": "mount-1", "persistentVolumeClaim": {"claimName": "runs", "readOnly": False}},
        {"name": "mount-2", "persistentVolumeClaim": {"claimName": "sets", "readOnly": True}},
    ]
    assert pod["spec"]["containers"][0]["volumeMounts"][-3:] == [
        {"name": "mount-0", "mountPath": "/in", "readOnly": True},
        {"name": "mount-1", "mountPath": "/out", "readOnly": False},
        {"name": "mount-2", "mountPath": "/sets", "readOnly": True, "subPath": "images"},
    ]


def test_what_an_operator_configures_is_in_every_pod() -> None:
    settings = replace(
        SETTINGS,
        service_account="trainer",
        priority_class="batch",
        image_pull_secrets=("registry",),
        tolerations=(Toleration(key="gpu", effect="NoSchedule"), Toleration(key="team", value="vision")),
        run_as=(1000, 2000),
    )
    (pod,) = pods(settings=settings, image="theirs:2")
    spec = pod["spec"]
    assert (spec["serviceAccountName"], spec["priorityClassName"]) == ("trainer", "batch")
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["tolerations"] == [
        {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "vision"},
    ]
    assert spec["containers"][0]["image"] == "theirs:2"
    assert spec["securityContext"] == {
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 2000,
        "fsGroup": 2000,
    }
    assert spec["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert spec["volumes"][0]["secret"]["defaultMode"] == 0o440


def test_a_job_without_any_image_is_refused_for_good() -> None:
    objects.check(a_request(), SETTINGS)
    objects.check(a_request(image="theirs:2"), replace(SETTINGS, image=""))
    with pytest.raises(RequestRefused, match="say `image` in the job file") as refused:
        objects.check(a_request(), replace(SETTINGS, image=""))
    assert refused.value.is_mistake


@pytest.mark.parametrize("node", ["n1", "gpu-7.rack-2.example", "N1", "n-" + "x" * 200, "a." + "b" * 62])
def test_names_are_names_in_dns_and_different_for_different_nodes(node: str) -> None:
    allocation = AllocationId("0123456789abcdef")
    name = objects.pod_name(allocation, NodeName(node))
    assert DNS_LABEL.fullmatch(name)
    assert name != objects.pod_name(allocation, NodeName(node.replace(".", "-") + "-"))
    assert objects.address_of(allocation, NodeName(node), "train") == f"{name}.muster-{allocation}.train.svc"
    assert objects.allocation_in(objects.gang_name(allocation)) == allocation


def test_a_label_holds_what_it_can_of_an_id() -> None:
    assert objects.label_of(JobId("job-3_7")) == "job-3_7"
    assert objects.label_of(JobId("_odd/id " + "x" * 80)) == "odd-id-" + "x" * 55
