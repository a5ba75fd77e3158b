"""Watches what nodes measure, on a thread of its own, and hands verdicts to the writer.

Measured values are many and soon outdated, so they are neither written nor kept. A verdict is an event: that a node is
bad, or that a rank is slow. Each kind of verdict is one `Watch`. A watch that fails is logged, and the others go on.
"""

import logging
from collections.abc import Callable, Sequence
from threading import Event as Flag
from threading import Thread
from typing import Protocol

from muster.model.errors import MusterError
from muster.model.events import ObservedEvent
from muster.model.telemetry import Telemetry
from muster.views.view import View

LOOK_MS = 1_000
"""How often the watches look. Every verdict is about more than a second."""

_log = logging.getLogger("muster.live")


class Watch(Protocol):
    """Follows one kind of measured values. It is called on one thread only."""

    def take(self, value: Telemetry) -> None:
        """Note a measured value. Values of other kinds are passed over."""
        ...

    def look(self, view: View, now_ms: int) -> Sequence[ObservedEvent | Telemetry]:
        """The verdicts that follow now, and values for other watches, which get them at the next look."""
        ...


class Monitor:
    """Calls the watches again and again."""

    def __init__(
        self,
        watches: Sequence[Watch],
        *,
        measured: Callable[[], tuple[Telemetry, ...]],
        view: Callable[[], View],
        now_ms: Callable[[], int],
        report: Callable[[Sequence[ObservedEvent]], None],
    ) -> None:
        """`report` hands verdicts to the writer. It raises a `MusterError` when they cannot be written now."""
        self._watches = tuple(watches)
        self._measured = measured
        self._view = view
        self._now_ms = now_ms
        self._report = report
        self._concluded: list[Telemetry] = []
        """Values that watches concluded, for the next look."""
        self._ending = Flag()
        self._thread = Thread(target=self._run, name="monitor", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking, and wait until the last look is over."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> None:
        """One round: pass on what was measured, and report what follows."""
        values = (*self._measured(), *self._concluded)
        view, now_ms = self._view(), self._now_ms()
        self._concluded.clear()
        verdicts: list[ObservedEvent] = []
        for watch in self._watches:
            try:
                for value in values:
                    watch.take(value)
                for each in watch.look(view, now_ms):
                    if isinstance(each, Telemetry):
                        self._concluded.append(each)
                    else:
                        verdicts.append(each)
            except Exception:  # noqa: BLE001 - a watch must not take the others down with it
                _log.exception("a watch has failed", extra={"watch": type(watch).__name__})
        if verdicts:
            try:
                self._report(verdicts)
            except MusterError as error:
                _log.warning("verdicts could not be written", extra={"cause": str(error)})

    def _run(self) -> None:
        while not self._ending.wait(LOOK_MS / 1000):
            self.look()
