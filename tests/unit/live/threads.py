"""Threads that do their work at once, or never, so that tests need not wait for them."""

from collections.abc import Callable
from concurrent.futures import Future

from muster.live.watching.hang_reports import HangReports
from muster.model.errors import NotFound


class Threads:
    """Runs what it is given at once, or when the test says so."""

    def __init__(self, *, waits: bool = False) -> None:
        self.waits = waits
        self.begun = 0
        self.is_shut = False

    def submit(self, act: Callable[..., object], *given: object) -> "Future[object]":
        self.begun += 1
        future: Future[object] = Future()
        if self.waits:
            return future
        try:
            future.set_result(act(*given))
        except NotFound as error:
            future.set_exception(error)
        return future

    def shutdown(self, **_: object) -> None:
        self.is_shut = True


def on_threads(hangs: HangReports, threads: Threads) -> HangReports:
    """Have it use these threads instead of its own."""
    hangs.close()
    hangs._threads = threads  # type: ignore[assignment]
    return hangs
