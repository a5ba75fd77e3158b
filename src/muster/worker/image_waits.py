"""Starts that wait for an image: what became of it, and what is told to whom."""

from collections.abc import Callable
from functools import partial

from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.worker.containers.node_containers import NodeContainers
from muster.worker.launch.launch_spec import CannotStart, Mistaken
from muster.worker.messages import WorkerReport
from muster.worker.output.budget import OutputBudget
from muster.worker.worker_reports import image_pulled

PULLING = "muster: pulling image {}\n"


class ImageWaits:
    """Asks for the images of workers, and notes in their output that they wait."""

    def __init__(
        self, containers: NodeContainers, output: OutputBudget, report: Callable[[WorkerReport], None]
    ) -> None:
        self._containers = containers
        self._output = output
        self._report = report

    def is_over(self, start: StartWorkers, worker: Worker, then: Callable[[], None]) -> bool:
        """False while the image is not on the node; `then` is called later. Raises when it cannot be had."""
        if not start.spec.image:
            return True
        note = PULLING.format(start.spec.image).encode()
        begun = partial(self._output.note, start.job, start.attempt, worker.rank, note)
        pulled = self._containers.outcome(start, worker.rank, then, begun)
        if pulled is None:
            return False
        if pulled.problem:
            raise Mistaken(pulled.problem) if pulled.is_mistake else CannotStart(pulled.problem)
        if pulled.took_ms:
            self._report(image_pulled(start, worker.node, pulled.took_ms))
        return True
