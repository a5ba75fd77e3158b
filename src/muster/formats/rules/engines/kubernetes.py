"""A namespace of a Kubernetes."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from muster.formats.jobs.container_values import ImageName
from muster.formats.parts.kinds import Memory, Name, Text
from muster.formats.rules.engines.entry import PYTHON, NodesSettings, NodesWire, beside
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.ids import DEFAULT_POOL, EngineName, LevelName, PoolName
from muster.model.limits import TOPOLOGY_LEVELS

IN_CLUSTER = "in-cluster"
"""Instead of a kubeconfig: the service account of the pod in which the server runs."""

ENTRIES_MOST = 64
"""More tolerations, labels or secrets than an operator writes down."""

SHM_BYTES = 8 << 30
"""Room for the buffers of NCCL and of data loaders. Only what is used of it costs memory."""

GPU_RESOURCE = "nvidia.com/gpu"
GPU_TYPE_LABEL = "nvidia.com/gpu.product"

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KEY = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_TOLERATION = re.compile(
    r"(?P<key>[A-Za-z0-9][A-Za-z0-9_./-]*)(=(?P<value>[A-Za-z0-9_.-]*))?"
    r"(:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute))?"
)
_RUN_AS = re.compile(r"(?P<user>[1-9][0-9]{0,9})(:(?P<group>[0-9]{1,10}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToleratedTaint:
    """A taint that pods of jobs put up with, as `key`, `key=value`, `key:effect` or `key=value:effect`."""

    key: str
    value: str | None = None
    """None for any."""
    effect: str = ""
    """Empty for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesNamespace(NodesSettings):
    """Which namespace of which cluster is used, and how pods of jobs are made there."""

    kubeconfig: Path | None = None
    """None for the service account of the server's own pod."""
    context: str = ""
    namespace: str = ""
    level_labels: tuple[str, ...] = ()
    """The labels of nodes that name their domains, outermost first."""
    labels: tuple[str, ...] = ()
    image: str = ""
    node_selector: tuple[tuple[str, str], ...] = ()
    service_account: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    priority_class: str = ""
    tolerations: tuple[ToleratedTaint, ...] = ()
    shm_bytes: int = SHM_BYTES
    scratch: str = ""
    gpu_resources: tuple[str, ...] = (GPU_RESOURCE,)
    gpu_type_label: str = GPU_TYPE_LABEL
    gpu_types: tuple[tuple[str, str], ...] = ()
    run_as: tuple[int, int] | None = None


class KubernetesWire(NodesWire):
    """A namespace of a Kubernetes, whose nodes need not be described; see [the guide](../guides/kubernetes.md)."""

    kind: Literal["kubernetes"]
    kubeconfig: Text | None = None
    """A file beside this one that says where the cluster is and who asks, or `in-cluster`; it has to be given."""
    context: Text | None = None
    """Which context of the file is meant. Left out: its current one."""
    namespace: Text = "muster"
    """Where the pods of jobs are made. It has to exist."""
    levels: Annotated[dict[Name, Text], Field(max_length=TOPOLOGY_LEVELS)] = Field(default_factory=dict)
    """Levels of the topology, outermost first, each with the label of nodes that names their domain."""
    labels: Annotated[list[Text], Field(max_length=ENTRIES_MOST)] = Field(default_factory=list)
    """Labels of nodes that jobs may ask for in `constraint`, as `value` and as `key=value`."""
    image: ImageName | None = None
    """What jobs without `image` run in. It needs a shell and Python 3.11 or newer, as all images of jobs do."""
    node_selector: Annotated[dict[Text, Text], Field(max_length=ENTRIES_MOST)] = Field(default_factory=dict)
    """Labels that nodes must have to be used. Left out: all nodes, but those of the control plane."""
    service_account: Text | None = None
    """The service account of pods of jobs, whose token they do not see. Left out: that of the namespace."""
    image_pull_secrets: Annotated[list[Text], Field(max_length=ENTRIES_MOST)] = Field(default_factory=list)
    """Secrets of the namespace with which images are pulled."""
    priority_class: Text | None = None
    """The priority class of pods of jobs. Left out: that of the cluster."""
    tolerations: Annotated[list[Text], Field(max_length=ENTRIES_MOST)] = Field(default_factory=list)
    """Taints of nodes that are used nevertheless, such as `nvidia.com/gpu:NoSchedule` or `team=vision`."""
    shm: Memory = SHM_BYTES
    """The size of /dev/shm of each pod, which NCCL and data loaders need. What is used of it counts as its memory."""
    scratch: Text | None = None
    """A folder of the nodes for hot checkpoints, which then outlive pods. Left out: they go with the pod."""
    gpu_resources: Annotated[list[Text], Field(min_length=1, max_length=8)] = Field(
        default_factory=lambda: [GPU_RESOURCE]
    )
    """What GPUs are called there. A node has those of the first that it offers."""
    gpu_type_label: Text = GPU_TYPE_LABEL
    """The label of nodes that says what GPUs they have: `NVIDIA-H100-80GB-HBM3` is `h100` here."""
    gpu_types: Annotated[dict[Text, Name], Field(max_length=ENTRIES_MOST)] = Field(default_factory=dict)
    """What values of that label are called here, where that is not what one would expect."""
    run_as: Text | None = None
    """The user and the group of pods of jobs, such as `1000:1000`. Left out: those of the image."""

    def settings(self, folder: Path) -> KubernetesNamespace:
        """The settings that it stands for."""
        return KubernetesNamespace(
            name=EngineName(self.name),
            url=self.url or "",
            ca=beside(folder, self.ca),
            python=self.python or PYTHON,
            pool=PoolName(self.pool or DEFAULT_POOL),
            levels=tuple(map(LevelName, self.levels)),
            kubeconfig=None if self.kubeconfig == IN_CLUSTER else beside(folder, self.kubeconfig),
            context=self.context or "",
            namespace=self.namespace,
            level_labels=tuple(self.levels.values()),
            labels=tuple(self.labels),
            image=self.image or "",
            node_selector=tuple(self.node_selector.items()),
            service_account=self.service_account or "",
            image_pull_secrets=tuple(self.image_pull_secrets),
            priority_class=self.priority_class or "",
            tolerations=tuple(each for each in map(toleration, self.tolerations) if each is not None),
            shm_bytes=self.shm,
            scratch=self.scratch or "",
            gpu_resources=tuple(self.gpu_resources),
            gpu_type_label=self.gpu_type_label,
            gpu_types=tuple(self.gpu_types.items()),
            run_as=run_as(self.run_as),
        )

    def check(self, problems: Problems, at: Loc) -> None:
        """The cluster has to be named, and words have to be such as Kubernetes takes."""
        if not self.kubeconfig:
            hint = f"a file beside this one, or {IN_CLUSTER!r} for a server that runs in the cluster"
            problems.add((*at, "kubeconfig"), "is required for Kubernetes", hint)
        if not _NAMESPACE.fullmatch(self.namespace):
            problems.add((*at, "namespace"), f"{self.namespace!r} is not a namespace", "1 to 63 of a-z, 0-9 and -")
        for key, label in self.levels.items():
            _check_key(label, problems, (*at, "levels", key))
        for place, label in enumerate(self.labels):
            _check_key(label, problems, (*at, "labels", place))
        for place, name in enumerate(self.gpu_resources):
            _check_key(name, problems, (*at, "gpu_resources", place))
        for place, text in enumerate(self.tolerations):
            if toleration(text) is None:
                hint = "key, key=value, key:NoSchedule or key=value:NoExecute"
                problems.add((*at, "tolerations", place), f"{text!r} is not a toleration", hint)
        if self.run_as is not None and run_as(self.run_as) is None:
            hint = "numbers above 0, such as 1000:1000; leave it out for the user of the image"
            problems.add((*at, "run_as"), f"{self.run_as!r} is not a user", hint)
        if self.scratch is not None and not self.scratch.startswith("/"):
            problems.add((*at, "scratch"), f"{self.scratch!r} is not a path", "the absolute path on the nodes")


def toleration(text: str) -> ToleratedTaint | None:
    """What a text says; None when it is no toleration."""
    match = _TOLERATION.fullmatch(text)
    if match is None:
        return None
    return ToleratedTaint(key=match["key"], value=match["value"], effect=match["effect"] or "")


def run_as(text: str | None) -> tuple[int, int] | None:
    """A user and a group, which is of the same number unless it is said; None when there is none."""
    match = None if text is None else _RUN_AS.fullmatch(text)
    return None if match is None else (int(match["user"]), int(match["group"] or match["user"]))


def _check_key(text: str, problems: Problems, at: Loc) -> None:
    if not _KEY.fullmatch(text):
        problems.add(at, f"{text!r} is not the name of a label or a resource", "such as topology.example/rack")
