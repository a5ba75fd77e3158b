"""One pod as the API server shows it: what it uses, how far it is, and why it does not run any more. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from muster.backends.kubernetes.quantities import amount_of, bytes_of, milli_of
from muster.model.job import Cause

MARK = "muster/mark"
ALLOCATION = "muster/allocation"
JOB = "muster/job"
ATTEMPT = "muster/attempt"
NODE = "muster/node"
"""The annotation of a pod with the node that was chosen for it."""

MISTAKE_CODE = 127
"""The exit code of a pod whose image lacks what an agent needs."""

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodEnd:
    """Why a pod does not run any more, or is about to end."""

    cause: Cause | None
    """None when it ended in order."""
    because: str = ""
    is_mistake: bool = False
    """True when the same would happen again anywhere."""


STUCK_S = 30.0
"""How long a pod may be unable to run. A registry that was away for a moment, and pods that make room, take less."""

CREATING_S = 1200.0
"""How long its container may take to be made: as long as the pull of an image may take on a node of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWait:
    """Why a pod does not run yet."""

    because: str
    patience_s: float = STUCK_S
    """After how long it is given up."""
    is_mistake: bool = False
    """True when it would not run anywhere, either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """What is kept of a pod."""

    uid: str
    name: str
    namespace: str
    version: str
    mark: str
    allocation: str
    chosen: str
    """The node that Muster chose for it; empty for pods of others."""
    node: str
    """The node that it is bound to; empty while it is not."""
    phase: str
    gpus: Mapping[str, int] = field(default_factory=dict)
    """By resource; whatever is not counted in CPUs and bytes."""
    cpu_milli: int = 0
    memory_bytes: int = 0
    is_daemon: bool = False
    """True for what a node runs for itself."""
    end: PodEnd | None = None
    waiting: PodWait | None = None
    """Why it does not run yet; None when nothing is known that keeps it from that."""

    @property
    def has_ended(self) -> bool:
        """True when nothing of it runs."""
        return self.phase in ("Succeeded", "Failed")


def pod_from(pod: Manifest) -> PodSeen:
    """What is kept of a pod that the API server shows."""
    about, spec, status = pod["metadata"], pod.get("spec", {}), pod.get("status", {})
    labels = about.get("labels") or {}
    asked = _requests(spec)
    return PodSeen(
        uid=about["uid"],
        name=about["name"],
        namespace=about.get("namespace", ""),
        version=about.get("resourceVersion", ""),
        mark=labels.get(MARK, ""),
        allocation=labels.get(ALLOCATION, ""),
        chosen=(about.get("annotations") or {}).get(NODE, ""),
        node=spec.get("nodeName") or "",
        phase=status.get("phase", "Pending"),
        gpus={name: int(amount_of(value)) for name, value in asked.items() if "/" in name},
        cpu_milli=milli_of(asked.get("cpu", "0")),
        memory_bytes=bytes_of(asked.get("memory", "0")),
        is_daemon=any(each.get("kind") in ("DaemonSet", "Node") for each in about.get("ownerReferences") or ()),
        end=_end(pod),
        waiting=_waiting(pod),
    )


def _requests(spec: Manifest) -> dict[str, str]:
    """What its containers ask for together. Init containers run before, and count where they ask for more."""
    total: dict[str, Any] = {}
    for container in spec.get("containers", ()):
        for name, value in _asked(container).items():
            total[name] = total.get(name, 0) + amount_of(value)
    for container in spec.get("initContainers") or ():
        for name, value in _asked(container).items():
            total[name] = max(total.get(name, 0), amount_of(value))
    return {name: str(float(value)) for name, value in total.items()}


def _asked(container: Manifest) -> Mapping[str, str]:
    resources = container.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


_DISRUPTIONS: Final[dict[str, tuple[Cause, str]]] = {
    "PreemptionByScheduler": (Cause.PREEMPTED, "preempted in Kubernetes by a pod of a higher priority class"),
    "EvictionByEvictionAPI": (Cause.PREEMPTED, "evicted in Kubernetes, as by `kubectl drain`"),
    "DeletionByTaintManager": (Cause.NODE_FAILURE, "taken off by Kubernetes because of a taint of its node"),
    "DeletionByPodGC": (Cause.NODE_FAILURE, "removed by Kubernetes because its node is gone"),
    "TerminationByKubelet": (Cause.NODE_FAILURE, "evicted by the kubelet of its node"),
}
"""What the condition `DisruptionTarget` of a pod means."""

_REASONS: Final[dict[str, tuple[Cause, str]]] = {
    "Evicted": (Cause.NODE_FAILURE, "evicted by the kubelet of its node"),
    "Preempting": (Cause.PREEMPTED, "preempted by the kubelet for a critical pod"),
    "DeadlineExceeded": (Cause.TIMEOUT, "its time in Kubernetes was over"),
    "NodeLost": (Cause.NODE_FAILURE, "Kubernetes lost its node"),
    "NodeShutdown": (Cause.NODE_FAILURE, "its node shuts down"),
    "Terminated": (Cause.NODE_FAILURE, "its node shuts down"),
    "NodeAffinity": (Cause.START_FAILURE, "its node is not the one that was chosen"),
    "UnexpectedAdmissionError": (Cause.START_FAILURE, "the kubelet of its node did not admit it"),
}
"""What the reason of a pod means that has failed. `OutOfcpu` and its like are told apart by their beginning."""

_BEYOND = "exceed"
"""In what a kubelet says of a pod that used more disk or shared memory than it may."""


def _end(pod: Manifest) -> PodEnd | None:
    """Why a pod ended or is about to; None while nothing ends it."""
    about, status = pod["metadata"], pod.get("status", {})
    phase = status.get("phase", "Pending")
    disruption = _condition(status, "DisruptionTarget")
    if phase == "Succeeded":
        return PodEnd(cause=None)
    if phase == "Failed":
        return _failure(pod, disruption)
    if not about.get("deletionTimestamp"):
        return None
    name = about["name"]
    if disruption is not None and disruption.get("reason") in _DISRUPTIONS:
        cause, words = _DISRUPTIONS[disruption["reason"]]
        return PodEnd(cause=cause, because=_said(f"pod {name} was {words}", disruption.get("message", "")))
    return PodEnd(cause=Cause.CANCELLED, because=f"pod {name} was deleted in Kubernetes")


def _failure(pod: Manifest, disruption: Manifest | None) -> PodEnd:
    status, name = pod.get("status", {}), pod["metadata"]["name"]
    reason, message = status.get("reason") or "", status.get("message") or ""
    if reason.startswith("OutOf"):
        return PodEnd(cause=Cause.START_FAILURE, because=_said(f"the node of pod {name} has no room for it", message))
    if reason == "Evicted" and _BEYOND in message:
        return PodEnd(cause=Cause.OOM, because=_said(f"pod {name} was evicted by the kubelet of its node", message))
    if reason in _REASONS:
        cause, words = _REASONS[reason]
        return PodEnd(cause=cause, because=_said(f"pod {name}: {words}", message))
    if disruption is not None and disruption.get("reason") in _DISRUPTIONS:
        cause, words = _DISRUPTIONS[disruption["reason"]]
        return PodEnd(cause=cause, because=_said(f"pod {name} was {words}", disruption.get("message", "")))
    return _crash(pod)


def _crash(pod: Manifest) -> PodEnd:
    """What its container says of its end."""
    name = pod["metadata"]["name"]
    ended = next(_states(pod, "terminated"), {})
    reason, message, code = ended.get("reason", ""), ended.get("message", ""), ended.get("exitCode", 0)
    if reason == "OOMKilled":
        return PodEnd(cause=Cause.OOM, because=f"pod {name} ran out of the memory that it may use: ask for more memory")
    if reason in ("StartError", "ContainerCannotRun") or code == MISTAKE_CODE:
        said = [line for line in message.splitlines() if line.strip()]
        return PodEnd(cause=Cause.ERROR, because=said[-1] if said else _no_shell(pod), is_mistake=True)
    if pod["metadata"].get("deletionTimestamp"):
        return PodEnd(cause=Cause.CANCELLED, because=f"pod {name} was deleted in Kubernetes")
    return PodEnd(cause=Cause.NODE_FAILURE, because=_said(f"the agent in pod {name} ended with code {code}", message))


def _no_shell(pod: Manifest) -> str:
    return f"image {_image(pod)} cannot be run: it needs /bin/sh and Python 3.11 or newer"


_UNPULLED = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError")


_MISSING = ("not found", "manifest unknown", "does not exist", "denied", "unauthorized")
"""In what a registry says of an image that it does not have, or does not show."""


def _waiting(pod: Manifest) -> PodWait | None:
    """Why a pod does not run yet; None when nothing keeps it from that."""
    status = pod.get("status", {})
    if status.get("phase", "Pending") != "Pending":
        return None
    bound = _condition(status, "PodScheduled")
    if bound is not None and bound.get("status") == "False":
        return PodWait(
            because=f"the scheduler of Kubernetes finds no place for it ({_short(bound.get('message', ''))})"
        )
    waiting = next(_states(pod, "waiting"), {})
    reason, message = waiting.get("reason", ""), _short(waiting.get("message", ""))
    if reason == "InvalidImageName":
        return PodWait(because=f"{_image(pod)!r} is not the name of an image", patience_s=0, is_mistake=True)
    if reason in _UNPULLED:
        advice = "look for a misspelling, and for a secret in `image_pull_secrets` of the engine"
        is_missing = any(word in message.lower() for word in _MISSING)
        because = f"image {_image(pod)} cannot be pulled: {advice} ({message or reason})"
        return PodWait(because=because, is_mistake=is_missing)
    if reason in ("CreateContainerConfigError", "CreateContainerError", "RunContainerError"):
        return PodWait(because=f"its container cannot be made ({message or reason})")
    if reason in ("ContainerCreating", "PodInitializing"):
        because = "its container is not made yet: `kubectl describe pod` says whether a volume is missing"
        return PodWait(because=because, patience_s=CREATING_S)
    return None


def _image(pod: Manifest) -> str:
    return str(pod["spec"]["containers"][0].get("image", ""))


def _states(pod: Manifest, kind: str) -> Iterator[Manifest]:
    """What its containers say of a state that they are in."""
    status = pod.get("status", {})
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        if kind in (each.get("state") or {}):
            yield each["state"][kind]


def _condition(status: Manifest, kind: str) -> Manifest | None:
    return next((each for each in status.get("conditions") or () if each.get("type") == kind), None)


MESSAGE_CHARS = 400
"""How much of what Kubernetes says is shown. A scheduler lists the reasons of every node."""


def _short(message: str) -> str:
    return " ".join(message.split())[:MESSAGE_CHARS].rstrip(".")


def _said(words: str, message: str) -> str:
    return f"{words} ({_short(message)})" if message else words
