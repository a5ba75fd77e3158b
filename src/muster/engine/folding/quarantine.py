"""Workers that nodes run and that the log does not know.

No job can be placed on their GPUs until they have ended or were adopted.
"""

from collections.abc import Iterator, Mapping

from muster.model.ids import JobId, NodeName
from muster.model.instructions import KillWorkers
from muster.model.job import Job
from muster.model.machines.quarantine import FoundGang, quarantined_gpus
from muster.model.node import Node
from muster.model.records import evolve


class Quarantine:
    """Gangs by the node that runs them."""

    def __init__(self) -> None:
        self.gangs: dict[NodeName, tuple[FoundGang, ...]] = {}
        self.doomed: dict[tuple[JobId, int], None] = {}
        """Attempts that an operator ordered to be killed. Workers left of them are killed whenever a node is back."""

    def __bool__(self) -> bool:
        return bool(self.gangs)

    def on(self, node: NodeName) -> tuple[FoundGang, ...]:
        """What is in quarantine on a node."""
        return self.gangs.get(node, ())

    def of(self, job: JobId) -> Iterator[tuple[NodeName, FoundGang]]:
        """What a job has in quarantine, with the node it is on."""
        for node, gangs in self.gangs.items():
            for gang in gangs:
                if gang.job == job:
                    yield node, gang

    def put(self, node: NodeName, gangs: tuple[FoundGang, ...]) -> bool:
        """Set all that is in quarantine on a node; False when nothing changes."""
        if gangs == self.on(node):
            return False
        if gangs:
            self.gangs[node] = gangs
        else:
            del self.gangs[node]
        left = {(gang.job, gang.attempt) for found in self.gangs.values() for gang in found} if self.doomed else ()
        self.doomed = {each: None for each in self.doomed if each in left}
        return True

    def doom(self, job: JobId) -> tuple[NodeName, ...]:
        """Mark everything of a job to be killed; returns the nodes that have some of it."""
        parts = tuple(self.of(job))
        self.doomed |= {(job, gang.attempt): None for _, gang in parts}
        return tuple(dict.fromkeys(node for node, _ in parts))

    def kills(self, node: NodeName, jobs: Mapping[JobId, Job]) -> tuple[KillWorkers, ...]:
        """Commands that kill what an operator ordered to be killed on a node."""
        doomed = (gang for gang in self.on(node) if (gang.job, gang.attempt) in self.doomed)
        return tuple(
            KillWorkers(
                job=gang.job,
                attempt=gang.attempt,
                generation=max(gang.generation, jobs[gang.job].generation if gang.job in jobs else 0),
                ranks=tuple(worker.rank for worker in gang.workers),
            )
            for gang in doomed
        )

    def release(self, job: JobId, attempt: int, ranks: frozenset[int]) -> tuple[NodeName, ...]:
        """Take workers out of quarantine; returns the nodes that had any."""
        before = tuple(self.gangs.items())
        return tuple(node for node, gangs in before if self.put(node, _without(gangs, job, attempt, ranks)))

    def keep(self, nodes: dict[NodeName, Node]) -> None:
        """Forget what was on nodes that are not among these."""
        self.gangs = {name: gangs for name, gangs in self.gangs.items() if name in nodes}

    def planned(self, node: Node) -> Node:
        """The node as planning sees it: GPUs that are in use by workers in quarantine count as bad."""
        if node.name not in self.gangs:
            return node
        in_use = quarantined_gpus(self.on(node.name), node)
        return evolve(node, bad_gpus=tuple(sorted({*node.bad_gpus, *in_use})))


def _without(gangs: tuple[FoundGang, ...], job: JobId, attempt: int, ranks: frozenset[int]) -> tuple[FoundGang, ...]:
    left = []
    for gang in gangs:
        is_meant = (gang.job, gang.attempt) == (job, attempt)
        workers = tuple(each for each in gang.workers if not (is_meant and each.rank in ranks))
        if workers:
            left.append(evolve(gang, workers=workers))
    return tuple(left)
