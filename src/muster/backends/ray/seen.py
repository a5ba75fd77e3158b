"""The allocations that keepers tell of, and those that they cannot tell of because Ray has lost their nodes. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from muster.backends.allocations.engine import AllocationId, AllocationPhase, SeenAllocation
from muster.backends.ray.nodes import KeptAllocation, RayNode
from muster.backends.ray.on_ray.keeper import ENDED, ENDING, RUNNING, WAITING
from muster.model.ids import NodeName
from muster.model.job import Cause

Nodes = tuple[NodeName, ...]


def seen_allocations(
    nodes: Mapping[NodeName, RayNode], booked: Mapping[AllocationId, Nodes]
) -> tuple[SeenAllocation, ...]:
    """All allocations. `booked` are those that Muster has asked for and not forgotten, with their nodes.

    A node that Ray has lost, or whose keeper does not answer, proves nothing: what it had is not over.
    """
    return tuple(each.told for each in _parts(nodes, booked) if each.is_known)


def to_end(nodes: Mapping[NodeName, RayNode], unwanted: Iterable[AllocationId]) -> Iterator[AllocationId]:
    """Those that live although they were told to end, and those that were begun on a part of their nodes only."""
    told = frozenset(unwanted)
    return (each.id for each in _parts(nodes, {}) if each.may_be_told and (each.id in told or each.is_partial))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """One allocation, by what is known of each of its nodes."""

    id: AllocationId
    nodes: Nodes
    entries: Mapping[NodeName, KeptAllocation]
    """What keepers have of it."""
    unheard: Nodes
    """Those that Ray has, and whose keepers say nothing."""
    gone: Nodes
    """Those that Ray has lost."""

    @property
    def is_known(self) -> bool:
        """False when all keepers answered, and none has it."""
        return bool(self.entries or self.unheard or self.gone)

    @property
    def is_partial(self) -> bool:
        """True when it lives somewhere, and a keeper that answers does not have it."""
        return bool(self._absent) and any(each.phase != ENDED for each in self.entries.values())

    @property
    def may_be_told(self) -> bool:
        """True when something of it could still be told to end."""
        return any(each.phase in (WAITING, RUNNING) for each in self.entries.values())

    @property
    def told(self) -> SeenAllocation:
        """The whole, in the words of the port."""
        phase = self._phase
        return SeenAllocation(
            id=self.id,
            engine_id=str(self.id),
            phase=phase,
            nodes=tuple(each for each in self.nodes if self._is_on(each)),
            over=(*self._absent, *(each for each in self._in(ENDED) if self.entries[each].is_orderly)),
            cause=Cause.TIMEOUT if phase is AllocationPhase.ENDED and self._is_overdue else None,
            because=self._because,
            is_mistake=phase is AllocationPhase.ENDED and bool(self._without_python),
        )

    @property
    def _phase(self) -> AllocationPhase:
        if self.entries and len(self._in(ENDED)) + len(self._absent) == len(self.nodes):
            return AllocationPhase.ENDED
        if self._in(ENDING) or self.is_partial:
            return AllocationPhase.ENDING
        return AllocationPhase.WAITING if self._in(WAITING) and not self._in(ENDED) else AllocationPhase.RUNNING

    @property
    def _because(self) -> str:
        if self._without_python:
            return f"{_named(self._without_python)} has no Python 3.11 or newer as `python` of the engine says"
        killed = [each for each in self._in(ENDED) if not self.entries[each].is_orderly]
        if self._is_overdue:
            return "it was not over when its time was"
        if self.is_partial:
            return f"{_named(self._absent)} did not begin it, or lost it"
        if self._in(WAITING):
            return f"it waits for GPUs of {_named(self._in(WAITING))}"
        if killed:
            return f"its agent on {_named(killed)} was ended"
        lost = (*self.gone, *self.unheard)
        return f"Ray does not reach {_named(lost)}" if lost else ""

    @property
    def _without_python(self) -> Nodes:
        return tuple(each for each in self._in(ENDED) if self.entries[each].lacks_python)

    @property
    def _is_overdue(self) -> bool:
        return any(each.is_overdue for each in self.entries.values())

    @property
    def _absent(self) -> Nodes:
        return tuple(
            each
            for each in self.nodes
            if each not in self.entries and each not in self.unheard and each not in self.gone
        )

    def _in(self, phase: str) -> Nodes:
        return tuple(each for each in self.nodes if each in self.entries and self.entries[each].phase == phase)

    def _is_on(self, node: NodeName) -> bool:
        entry = self.entries.get(node)
        return node in self.unheard if entry is None else entry.phase != ENDED


def _parts(nodes: Mapping[NodeName, RayNode], booked: Mapping[AllocationId, Nodes]) -> Iterator[_Parts]:
    found: dict[AllocationId, dict[NodeName, KeptAllocation]] = {}
    whole = dict(booked)
    for name, node in nodes.items():
        for kept in (node.kept or ()) if node.is_alive else ():
            found.setdefault(AllocationId(kept.id), {})[name] = kept
            whole[AllocationId(kept.id)] = kept.nodes
    for allocation, its in whole.items():
        yield _Parts(
            id=allocation,
            nodes=its,
            entries=found.get(allocation, {}),
            unheard=tuple(each for each in its if each in nodes and nodes[each].is_alive and nodes[each].kept is None),
            gone=tuple(each for each in its if each not in nodes or not nodes[each].is_alive),
        )


def _named(nodes: Iterable[NodeName]) -> str:
    return ", ".join(nodes)
