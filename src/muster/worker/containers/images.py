"""Images: pulled before a worker is started, and once for all workers of a node that wait for one.

How long it took is told apart from the run of the job. A pull that fails says whether the job file is to blame: then
the job fails, and is not tried on other nodes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from muster.model.node_limits import IMAGE_LOOK_MS
from muster.worker.containers.runtime import Runtime
from muster.worker.processes.bounded_command import CommandEnd

OUTPUT_BYTES = 64 << 10

_OUTSIDE = (
    "no such host",
    "connection refused",
    "connection reset",
    "timeout",
    "timed out",
    "temporary failure",
    "no space left",
    "toomanyrequests",
    "too many requests",
    "unreachable",
    "x509",
    "tls",
    "http response to https",
    "executable file not found",
    "eof",
)
"""Words of a registry or a node that has trouble of its own."""

_UNKNOWN = ("manifest unknown", "name unknown", "not found", "no such image", "does not exist", "short-name", "invalid")
_DENIED = ("unauthorized", "authentication", "denied", "forbidden")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """An image is on the node, or is not."""

    took_ms: int = 0
    """0 when it was there before."""
    problem: str = ""
    is_mistake: bool = False
    """True when the job file is to blame, and another node would not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """How an image is pulled."""

    options: tuple[str, ...] = ()
    limit_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingWorker:
    """A worker that waits for an image."""

    begun: Callable[[], None]
    """Called when it has to be pulled."""
    done: Callable[[Pulled], None]


Run = Callable[[list[str], int, int, Callable[[CommandEnd], None]], None]
"""Runs a command with a limit of time and of output, and calls back once it has ended."""


class Images:
    """The images of one node."""

    def __init__(self, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._clock = clock
        self._waiting: dict[str, list[WaitingWorker]] = {}

    def provide(self, runtime: Runtime, image: str, pull: Pull, worker: WaitingWorker) -> None:
        """Tell a worker when the image is there, or cannot be had."""
        waiting = self._waiting.setdefault(image, [])
        waiting.append(worker)
        if len(waiting) > 1:
            return

        def looked(end: CommandEnd) -> None:
            if end.exit_code == 0 and not end.problem:
                self._settle(image, Pulled())
                return
            began_s = self._clock()
            for each in waiting:
                each.begun()

            def ended(end: CommandEnd) -> None:
                took_ms = max(int((self._clock() - began_s) * 1000), 1)
                self._settle(image, _outcome(runtime, image, end, took_ms))

            self._run(runtime.pull(image, pull.options), pull.limit_ms, OUTPUT_BYTES, ended)

        self._run(runtime.has_image(image), IMAGE_LOOK_MS, OUTPUT_BYTES, looked)

    def _settle(self, image: str, outcome: Pulled) -> None:
        for each in self._waiting.pop(image):
            each.done(outcome)


def _outcome(runtime: Runtime, image: str, end: CommandEnd, took_ms: int) -> Pulled:
    if end.exit_code == 0 and not end.problem:
        return Pulled(took_ms=took_ms)
    words = end.problem or f"exit code {end.exit_code}"
    said = words.lower()
    if not any(each in said for each in _OUTSIDE):
        if any(each in said for each in _DENIED):
            advice = f"its registry refuses it: log in there with `{runtime.name} login` on the nodes, or name another"
            return Pulled(problem=f"image {image}: {advice} ({words})", is_mistake=True)
        if any(each in said for each in _UNKNOWN):
            advice = "not found: look at its name and its tag, and whether it was pushed"
            return Pulled(problem=f"image {image}: {advice} ({words})", is_mistake=True)
    return Pulled(problem=f"image {image} cannot be pulled: {words}")
