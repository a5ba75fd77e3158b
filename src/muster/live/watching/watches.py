"""The watches of one control plane, put together."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from muster.backends.base import LiveBackend
from muster.live.watching.hang_reports import HangReports
from muster.live.watching.health_watch import HealthWatch
from muster.live.watching.image_watch import ImageWatch
from muster.live.watching.output_watch import OutputWatch
from muster.live.watching.progress_watch import ProgressWatch
from muster.live.watching.stack_files import StackFiles
from muster.model.errors import NotFound
from muster.model.ids import JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class Watches:
    """What looks at measured values and at output, and what it needs."""

    health: HealthWatch
    progress: ProgressWatch
    output: OutputWatch
    images: ImageWatch
    hangs: HangReports
    stack_files: StackFiles


def watches_of(home: Path, backend: LiveBackend, health: HealthWatch) -> Watches:
    """Watch what this backend measures and prints."""
    stack_files = StackFiles(home)
    hangs = HangReports(stacks=backend.stacks, keep=stack_files.keep)
    progress = ProgressWatch(hangs=hangs)
    output = OutputWatch(printed_bytes=_printed_bytes(backend), reports_steps=progress.reports_steps, hangs=hangs)
    images = ImageWatch(backend.pull_ahead)
    return Watches(health=health, progress=progress, output=output, images=images, hangs=hangs, stack_files=stack_files)


def _printed_bytes(backend: LiveBackend) -> Callable[[JobId, int, int], int]:
    """How much a worker has printed."""

    def printed_bytes(job: JobId, attempt: int, rank: int) -> int:
        try:
            return backend.read_output(job, attempt, rank, -1, 1).end
        except NotFound:
            return 0

    return printed_bytes
