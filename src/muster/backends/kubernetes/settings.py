"""Which part of a Kubernetes cluster is used, and how the pods of gangs are made there."""

from dataclasses import dataclass, field
from pathlib import Path

from muster.model.ids import EngineName


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A taint of nodes that pods put up with."""

    key: str
    value: str | None = None
    """None for any."""
    effect: str = ""
    """Empty for any."""

    def tolerates(self, taint: dict[str, str]) -> bool:
        """True for a taint of a node that this one covers."""
        return (
            self.key == taint.get("key", "")
            and self.value in (None, taint.get("value", ""))
            and self.effect in ("", taint.get("effect", ""))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    """One namespace of one cluster."""

    name: EngineName
    kubeconfig: Path | None
    """None for the service account of the pod in which this process runs."""
    namespace: str
    context: str = ""
    level_labels: tuple[str, ...] = ()
    """The labels of nodes that name their domains, outermost first."""
    labels: tuple[str, ...] = ()
    """The labels of nodes that jobs may ask for."""
    image: str = ""
    """For jobs that name none."""
    node_selector: tuple[tuple[str, str], ...] = ()
    service_account: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    priority_class: str = ""
    tolerations: tuple[Toleration, ...] = ()
    shm_bytes: int = 8 << 30
    scratch: str = ""
    """A folder of the nodes for hot checkpoints; empty for one that goes with the pod."""
    gpu_resources: tuple[str, ...] = ("nvidia.com/gpu",)
    """What GPUs are called. A node has those of the first that it offers."""
    gpu_type_label: str = "nvidia.com/gpu.product"
    gpu_types: dict[str, str] = field(default_factory=dict)
    run_as: tuple[int, int] | None = None
    """The user and the group of pods; None for those of the image."""
