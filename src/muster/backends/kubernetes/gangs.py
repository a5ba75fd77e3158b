"""Allocations by their services and pods: how far each is, and why it ends. Pure.

The service of a gang owns everything else of it, and stands until all of it is gone. A gang of which a pod was taken is
broken: the rest of it is to be cancelled. What broke it is noted at the service before it is deleted, so that a control
plane that comes later knows it, too.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from muster.backends.allocations.engine import AllocationId, AllocationPhase, SeenAllocation
from muster.backends.kubernetes.pods import ALLOCATION, MARK, PodEnd, PodSeen
from muster.model.ids import NodeName
from muster.model.job import Cause

NODES = "muster/nodes"
"""The annotation of a service with how many pods its gang has."""
ENDED = "muster/ended"
"""The annotation of a service with why its gang ended, written before it is deleted."""

IN_ORDER = PodEnd(cause=None)

Manifest = Mapping[str, Any]

T = TypeVar("T", bound="Labelled")
T_co = TypeVar("T_co", bound="Labelled", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSeen:
    """What is kept of the service of a gang."""

    uid: str
    name: str
    version: str
    mark: str
    allocation: str
    pods: int
    is_leaving: bool
    ended: PodEnd | None
    """What was noted of its end."""


def service_from(service: Manifest) -> ServiceSeen:
    """What is kept of a service that the API server shows."""
    about = service["metadata"]
    labels, notes = about.get("labels") or {}, about.get("annotations") or {}
    return ServiceSeen(
        uid=about["uid"],
        name=about["name"],
        version=about.get("resourceVersion", ""),
        mark=labels.get(MARK, ""),
        allocation=labels.get(ALLOCATION, ""),
        pods=int(notes.get(NODES, "0")),
        is_leaving=bool(about.get("deletionTimestamp")),
        ended=end_of(notes[ENDED]) if ENDED in notes else None,
    )


def note_of(end: PodEnd) -> str:
    """How the end of a gang is noted."""
    cause = None if end.cause is None else end.cause.value
    return json.dumps({"cause": cause, "because": end.because, "is_mistake": end.is_mistake})


def end_of(note: str) -> PodEnd:
    """The inverse of `note_of`. What somebody else has written means an end in order."""
    try:
        said = json.loads(note)
        cause = None if said["cause"] is None else Cause(said["cause"])
        return PodEnd(cause=cause, because=str(said["because"]), is_mistake=bool(said["is_mistake"]))
    except (ValueError, KeyError, TypeError):
        return IN_ORDER


@dataclass(frozen=True, slots=True, kw_only=True)
class PodGang:
    """Everything that the cluster has, or had, of one allocation."""

    service: ServiceSeen | None
    pods: tuple[PodSeen, ...]
    is_gone: bool = False
    """True when its service is there no more, and was seen last as it is here."""
    gone: tuple[PodSeen, ...] = ()
    """Pods that are there no more, as they were seen last."""
    down: Collection[str] = ()
    """Nodes whose kubelets do not answer."""
    waits_s: float = 0.0
    """For how long one of its pods has been unable to run."""

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return self.service.name if self.service is not None else service_of((*self.pods, *self.gone)[0])

    @property
    def allocation(self) -> AllocationId:
        """Whose it is."""
        whose = (*self.pods, *self.gone)[0].allocation if self.service is None else self.service.allocation
        return AllocationId(whose)

    def seen(self) -> SeenAllocation:
        """How it is."""
        if self.service is None or self.is_gone or self.service.is_leaving:
            return self._ended(self._why_it_leaves())
        broken = self.service.ended or self._breach()
        if broken is not None:
            return self._ended(broken, needs_cancel=True)
        reached = self._reached()
        if reached and all(pod.has_ended for pod in reached):
            return self._ended(IN_ORDER, needs_cancel=True)
        waiting = [pod for pod in reached if pod.phase == "Pending"]
        if waiting:
            because = next((f"pod {pod.name}: {pod.waiting.because}" for pod in waiting if pod.waiting), "")
            return self._said(AllocationPhase.WAITING, because=because)
        nodes = tuple(NodeName(pod.chosen) for pod in reached)
        return self._said(AllocationPhase.RUNNING, nodes=nodes)

    def _reached(self) -> list[PodSeen]:
        """Its pods on nodes that answer. What is on the others is not known."""
        return [pod for pod in self.pods if (pod.node or pod.chosen) not in self.down]

    def _why_it_leaves(self) -> PodEnd:
        """Why it is being deleted. Muster leaves a note when it does that; what has none, somebody else has deleted."""
        if self.service is not None and self.service.ended is not None:
            return self.service.ended
        ends = [pod.end for pod in (*self.pods, *self.gone) if pod.end is not None]
        taken = next((end for end in ends if end.cause not in (None, Cause.CANCELLED)), None)
        if taken is not None:
            return taken
        return PodEnd(cause=Cause.CANCELLED, because=f"service {self.name} was deleted in Kubernetes")

    def _breach(self) -> PodEnd | None:
        """What has broken it; None while it is whole."""
        ends = [pod.end for pod in (*self._reached(), *self.gone) if pod.end is not None]
        broken = next((end for end in ends if end.cause is not None), None)
        if broken is not None:
            return broken
        if any(pod.end is None for pod in self.gone) or self._is_incomplete():
            names = ", ".join(pod.name for pod in self.gone if pod.end is None)
            return PodEnd(cause=None, because=f"not all pods of {self.name} are there{names and ': '}{names}")
        for pod in self._reached():
            waiting = pod.waiting
            if waiting is not None and self.waits_s >= waiting.patience_s:
                because = f"pod {pod.name}: {waiting.because}"
                return PodEnd(cause=Cause.START_FAILURE, because=because, is_mistake=waiting.is_mistake)
        return None

    def _is_incomplete(self) -> bool:
        """True when pods were never made, or went while nobody watched."""
        return self.service is not None and len(self.pods) + len(self.gone) < self.service.pods

    def _ended(self, end: PodEnd, *, needs_cancel: bool = False) -> SeenAllocation:
        is_alive = any(not pod.has_ended for pod in self._reached())
        return SeenAllocation(
            id=self.allocation,
            engine_id=self.name,
            phase=AllocationPhase.ENDING if is_alive else AllocationPhase.ENDED,
            cause=end.cause,
            because=end.because,
            is_mistake=end.is_mistake,
            needs_cancel=needs_cancel,
        )

    def _said(self, phase: AllocationPhase, nodes: tuple[NodeName, ...] = (), because: str = "") -> SeenAllocation:
        return SeenAllocation(id=self.allocation, engine_id=self.name, phase=phase, nodes=nodes, because=because)


def service_of(pod: PodSeen) -> str:
    """The name of the service that owns a pod."""
    return f"muster-{pod.allocation}"


class Labelled(Protocol):
    """What is kept of an object that may be a part of a gang."""

    @property
    def mark(self) -> str:
        """Whose it is; empty for objects of others than Musters."""
        ...

    @property
    def allocation(self) -> str:
        """The allocation that it is a part of."""
        ...


class Source(Protocol[T_co]):
    """Where objects are seen."""

    def all(self) -> tuple[T_co, ...]:
        """What there is."""
        ...

    def gone(self) -> tuple[T_co, ...]:
        """What was there until a moment ago."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Present(Generic[T]):
    """The parts of one kind that the gangs of one Muster have, and those that they had."""

    there: tuple[T, ...] = ()
    gone: tuple[T, ...] = ()

    @classmethod
    def of(cls, source: Source[T], mark: str) -> "Present[T]":
        """Those that bear the mark."""
        there, gone = source.all(), source.gone()
        return cls(
            there=tuple(each for each in there if each.mark == mark and each.allocation),
            gone=tuple(each for each in gone if each.mark == mark and each.allocation),
        )


def gangs_of(
    services: Present[ServiceSeen], pods: Present[PodSeen], down: Collection[str], waits_s: Mapping[str, float]
) -> tuple[PodGang, ...]:
    """Whatever there is of allocations, and was until a moment ago."""
    owners = {service.allocation: service for service in services.there}
    gone_owners = {service.allocation: service for service in services.gone}
    there, left = _by_allocation(pods.there), _by_allocation(pods.gone)
    return tuple(
        PodGang(
            service=owners.get(allocation) or gone_owners.get(allocation),
            is_gone=allocation not in owners,
            pods=tuple(there.get(allocation, ())),
            gone=tuple(left.get(allocation, ())),
            down=down,
            waits_s=waits_s.get(allocation, 0.0),
        )
        for allocation in dict.fromkeys((*owners, *gone_owners, *there, *left))
    )


def _by_allocation(pods: Iterable[PodSeen]) -> dict[str, list[PodSeen]]:
    found: dict[str, list[PodSeen]] = {}
    for pod in pods:
        found.setdefault(pod.allocation, []).append(pod)
    return found
