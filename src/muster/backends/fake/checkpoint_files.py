"""The truth about checkpoints: which parts were ever written, where they are now, and which of them are intact.

A record of the control plane says what was reported. Only these files say what a gang can really restore.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Flag, auto

from muster.model.ids import JobId, NodeName


class StorageTier(Flag):
    """Where parts of checkpoints are kept."""

    HOT = auto()
    """The disks of nodes."""
    DURABLE = auto()


@dataclass(slots=True)
class PartCopies:
    """All copies of the part that one rank has written."""

    hot: dict[NodeName, bool] = field(default_factory=dict)
    """The nodes that have a copy, and whether it is intact."""
    durable: bool | None = None
    """Whether the copy in durable storage is intact; None while there is none."""

    @property
    def is_intact(self) -> bool:
        """True when some copy can be restored."""
        return self.durable is True or any(self.hot.values())


@dataclass(slots=True, kw_only=True)
class StepFiles:
    """What one attempt has written of one step."""

    job: JobId
    step: int
    attempt: int
    world: int
    written_ms: int | None = None
    """When its first part was written."""
    parts: dict[int, PartCopies] = field(default_factory=dict)
    """By rank. A part that was written once stays listed when all its copies are gone."""
    was_uploaded: bool = False
    is_removed: bool = False

    @property
    def is_whole(self) -> bool:
        """True once every rank has written its part, whatever became of it."""
        return len(self.parts) == self.world

    @property
    def broken_rank(self) -> int | None:
        """The first rank whose part cannot be restored; None when all can."""
        ranks = (rank for rank in range(self.world) if rank not in self.parts or not self.parts[rank].is_intact)
        return next(ranks, None)

    def write(self, rank: int, node: NodeName, at_ms: int) -> None:
        """A rank has written its part to the disk of its node."""
        self.written_ms = at_ms if self.written_ms is None else self.written_ms
        self.parts.setdefault(rank, PartCopies()).hot[node] = True

    def copy(self, rank: int, *, source: NodeName, target: NodeName) -> None:
        """A neighbour gets a copy of a part, if the part is intact."""
        part = self.parts.get(rank)
        if part is not None and part.hot.get(source):
            part.hot[target] = True

    def upload(self) -> bool:
        """Copy everything to durable storage. False if a part is missing or damaged."""
        if self.is_removed or self.broken_rank is not None:
            return False
        for part in self.parts.values():
            part.durable = True
        self.was_uploaded = True
        return True

    def damage(self, rank: int, tiers: StorageTier) -> None:
        """All copies of a part in these tiers are damaged."""
        part = self.parts[rank]
        if StorageTier.HOT in tiers:
            part.hot = dict.fromkeys(part.hot, False)
        if StorageTier.DURABLE in tiers and part.durable is not None:
            part.durable = False


class CheckpointFiles:
    """The files of all jobs."""

    def __init__(self) -> None:
        self._steps: dict[tuple[JobId, int, int], StepFiles] = {}
        """By job, step and attempt."""

    def begin(self, job: JobId, step: int, attempt: int, *, world: int) -> StepFiles:
        """An attempt begins to save a step."""
        return self._steps.setdefault((job, step, attempt), StepFiles(job=job, step=step, attempt=attempt, world=world))

    def find(self, job: JobId, step: int, attempt: int) -> StepFiles | None:
        """What an attempt has written of a step."""
        return self._steps.get((job, step, attempt))

    def has_any(self, job: JobId) -> bool:
        """True when a job has ever begun to save by steps."""
        return any(each.job == job for each in self._steps.values())

    def of(self, job: JobId) -> tuple[StepFiles, ...]:
        """Everything that a job has written and that was not removed, oldest save first."""
        return tuple(each for each in self._steps.values() if each.job == job and not each.is_removed)

    def broken_rank(self, job: JobId, step: int) -> int | None:
        """The rank because of which a step cannot be restored; None when the parts of some attempt are all intact."""
        found = [each for each in self.of(job) if each.step == step]
        if any(each.broken_rank is None for each in found):
            return None
        return (found[-1].broken_rank if found else None) or 0

    def remove(self, job: JobId, step: int) -> None:
        """A user removed a checkpoint, with all copies."""
        for each in self.of(job):
            each.is_removed = each.is_removed or each.step == step

    def lose(self, node: NodeName) -> None:
        """The disk of a node is gone."""
        for part in self._parts():
            part.hot.pop(node, None)

    def lose_hot(self) -> None:
        """The disks of all nodes are gone."""
        for part in self._parts():
            part.hot.clear()

    def _parts(self) -> Iterator[PartCopies]:
        for each in self._steps.values():
            yield from each.parts.values()
