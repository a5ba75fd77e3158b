"""Which allocations there are, for which workers, and the links to their posts."""

from collections.abc import Callable, Iterator

from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.engine import AllocationId
from muster.backends.allocations.link import AllocationLink
from muster.model.ids import JobId, NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.node_limits import SUPERVISOR_ENDED_JOBS

Place = tuple[JobId, int, int, NodeName]
"""Job, attempt, rank and node of a worker."""


class AllocationRegister:
    """All allocations that are alive, and the last ones that were."""

    def __init__(
        self, open_post: Callable[[EngineAllocation, NodeName], AllocationLink], close_post: Callable[[NodeName], None]
    ) -> None:
        self.by_id: dict[AllocationId, EngineAllocation] = {}
        self.links: dict[NodeName, AllocationLink] = {}
        """By post. A post that is gone has none."""
        self._open_post = open_post
        self._close_post = close_post
        self._places: dict[Place, EngineAllocation] = {}

    def add(self, allocation: EngineAllocation) -> None:
        """Wait for the agents of an allocation."""
        self._forget_oldest()
        self.by_id[allocation.id] = allocation
        self._places.update(dict.fromkeys(_places(allocation), allocation))
        for node in allocation.nodes:
            link = self._open_post(allocation, node)
            self.links[link.node.name] = link

    def placed(self, start: StartWorkers, worker: Worker) -> EngineAllocation | None:
        """The allocation that a worker of a start has, or had."""
        return self._places.get((start.job, start.attempt, worker.rank, worker.node))

    def of_job(self, job: JobId) -> Iterator[EngineAllocation]:
        """Those of a job that are not over."""
        return (each for each in tuple(self.by_id.values()) if each.job == job and not each.is_over)

    def living(self, node: NodeName, *, but: JobId) -> Iterator[tuple[JobId, Worker]]:
        """Workers of other jobs on a node that are not known to be gone."""
        for allocation in self.by_id.values():
            if not allocation.is_over and allocation.job != but:
                yield from ((allocation.job, worker) for worker in allocation.living() if worker.node == node)

    def links_of(self, allocation: EngineAllocation) -> list[AllocationLink]:
        """The links to the posts of an allocation that are not gone."""
        return [self.links[post] for post in allocation.posts if post in self.links]

    def links_on(self, node: NodeName) -> list[AllocationLink]:
        """The links to all posts of a node."""
        return [link for link in self.links.values() if link.real_node == node]

    def close(self, post: NodeName) -> None:
        """A post is gone."""
        if self.links.pop(post, None) is not None:
            self._close_post(post)

    def _forget_oldest(self) -> None:
        """Keep a bounded number of those that are over: a question about an end comes seconds after it."""
        if len(self.by_id) > 2 * SUPERVISOR_ENDED_JOBS:
            over = [each for each in self.by_id.values() if each.is_over]
            for each in over[:SUPERVISOR_ENDED_JOBS]:
                del self.by_id[each.id]
                for place in _places(each):
                    self._places.pop(place, None)


def _places(allocation: EngineAllocation) -> Iterator[Place]:
    return ((allocation.job, allocation.attempt, worker.rank, worker.node) for worker in allocation.workers)
