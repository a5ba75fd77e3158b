"""What nodes run that nobody here has started. Its GPUs are in nobody's reach until it has ended or was adopted."""

from collections.abc import Iterator, Mapping

from muster.model.ids import JobId, NodeName
from muster.model.instructions import KillWorkers
from muster.model.job import Job
from muster.model.node import Node
from muster.model.quarantine import FoundGang, quarantined_gpus
from muster.model.records import evolve


class Quarantine:
    """Gangs by the node that runs them."""

    def __init__(self) -> None:
        self.gangs: dict[NodeName, tuple[FoundGang, ...]] = {}
        self.doomed: dict[tuple[JobId, int], None] = {}
        """Attempts that an operator has had ended: whoever is left of them is killed whenever a node is back."""

    def __bool__(self) -> bool:
        return bool(self.gangs)

    def on(self, node: NodeName) -> tuple[FoundGang, ...]:
        """What is in quarantine on a node."""
        return self.gangs.get(node, ())

    def of(self, job: JobId) -> Iterator[tuple[NodeName, FoundGang]]:
        """What is in quarantine of a job, with where it is."""
        for node, gangs in self.gangs.items():
            for gang in gangs:
                if gang.job == job:
                    yield node, gang

    def put(self, node: NodeName, gangs: tuple[FoundGang, ...]) -> bool:
        """All that is in quarantine on a node from now on; False when that is no news."""
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
        """Have everything of a job ended; the nodes where there is something."""
        parts = tuple(self.of(job))
        self.doomed |= {(job, gang.attempt): None for _, gang in parts}
        return tuple(dict.fromkeys(node for node, _ in parts))

    def kills(self, node: NodeName, jobs: Mapping[JobId, Job]) -> tuple[KillWorkers, ...]:
        """What ends those on a node that an operator has had ended."""
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
        """Take workers out; the nodes where there were any."""
        before = tuple(self.gangs.items())
        return tuple(node for node, gangs in before if self.put(node, _without(gangs, job, attempt, ranks)))

    def keep(self, nodes: dict[NodeName, Node]) -> None:
        """Forget what was on nodes that are no longer there."""
        self.gangs = {name: gangs for name, gangs in self.gangs.items() if name in nodes}

    def planned(self, node: Node) -> Node:
        """The node as planning sees it: without the GPUs of what is in quarantine there."""
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
