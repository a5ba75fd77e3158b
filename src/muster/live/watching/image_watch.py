"""Images of jobs that were promised a start: their nodes pull them before it.

A hint to nodes, and no verdict. It may be lost, and then the image is pulled when the job starts.
"""

from collections.abc import Callable, Mapping, Sequence

from muster.model.events import ObservedEvent
from muster.model.ids import NodeName
from muster.model.node_limits import PULL_AHEAD_MS
from muster.model.telemetry import Telemetry
from muster.views.view import View


class ImageWatch:
    """A `Watch` over promised starts."""

    def __init__(self, pull_ahead: Callable[[NodeName, tuple[str, ...]], None]) -> None:
        """`pull_ahead` tells a node which images it is to have soon."""
        self._pull_ahead = pull_ahead
        self._told: Mapping[NodeName, tuple[str, ...]] = {}

    def take(self, value: Telemetry) -> None:
        """Nothing that nodes measure matters here."""

    def look(self, view: View, now_ms: int) -> Sequence[ObservedEvent | Telemetry]:
        """Tell each node about images that it was not told about at the last look."""
        wanted = images_ahead(view, now_ms)
        for node, images in wanted.items():
            told = self._told.get(node, ())
            if news := tuple(image for image in images if image not in told):
                self._pull_ahead(node, news)
        self._told = wanted
        return ()


def images_ahead(view: View, now_ms: int) -> dict[NodeName, tuple[str, ...]]:
    """By node, the images of jobs that were promised a start there soon, the earliest first."""
    found: dict[NodeName, dict[str, None]] = {}
    for promise in sorted(view.promises.values(), key=lambda each: (each.start_ms, each.job)):
        job = view.jobs.get(promise.job)
        if job is None or not job.spec.image or promise.start_ms - now_ms > PULL_AHEAD_MS:
            continue
        for node in promise.nodes:
            found.setdefault(node, {})[job.spec.image] = None
    return {node: tuple(images) for node, images in found.items()}
