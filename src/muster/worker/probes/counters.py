"""By how much counters rose lately, and the best speed that each interface has had.

The last values are kept in a file of the node. So a supervisor that is started again does not take what a counter
shows for news, and knows how fast a link should be.
"""

import json
from collections import deque
from contextlib import suppress
from pathlib import Path

from muster.model.node_limits import COUNTER_WINDOW_MS, PROBE_SIGNALS
from muster.model.records import evolve
from muster.model.telemetry import SIGNALS, Signal

FILE = "probes.json"


class Counters:
    """Follows the counters and the speeds of one node."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._last: dict[str, int] = _read(self._path)
        """The last value of each counter, and the best speed of each interface."""
        self._rises: dict[str, deque[tuple[int, int]]] = {}
        """By counter, when it rose and by how much."""
        self._is_changed = False

    def complete(self, signal: Signal, *, is_first_run: bool = False) -> Signal:
        """The signal with its rise, or with the best speed so far.

        A counter that is seen for the first time counts from zero if its probe has run without it before, or if it
        should be zero at all times. Otherwise what it shows is what it starts with.
        """
        kind = SIGNALS.get(signal.signal)
        if signal.signal == "nic_speed":
            best = max(self._last.get(_key(signal), 0), signal.value)
            self._keep(signal, best)
            return evolve(signal, best=best)
        if kind is None or not kind.is_counter:
            return signal
        before = self._last.get(_key(signal))
        if before is None:
            before = signal.value if is_first_run and not kind.is_grave else 0
        # A counter that is lower than before was reset.
        rose = signal.value - before if signal.value >= before else signal.value
        self._keep(signal, signal.value)
        return evolve(signal, rise=self._rise(_key(signal), signal.at_ms, rose))

    def save(self) -> None:
        """Write what has changed. Without it the next supervisor only knows less."""
        if self._is_changed:
            self._is_changed = False
            # Not synced: the loop must not wait for a disk, and after a crash older values do.
            draft = self._path.with_name(f".{FILE}")
            with suppress(OSError):
                draft.write_text(json.dumps(self._last), "utf-8")
                draft.replace(self._path)

    def _keep(self, signal: Signal, value: int) -> None:
        key = _key(signal)
        if self._last.get(key) != value and (key in self._last or len(self._last) < PROBE_SIGNALS):
            self._last[key] = value
            self._is_changed = True

    def _rise(self, key: str, at_ms: int, rose: int) -> int:
        rises = self._rises.setdefault(key, deque())
        if rose:
            rises.append((at_ms, rose))
        while rises and rises[0][0] <= at_ms - COUNTER_WINDOW_MS:
            rises.popleft()
        return sum(amount for _, amount in rises)


def _key(signal: Signal) -> str:
    return f"{signal.signal} {'' if signal.gpu is None else signal.gpu} {signal.nic}"


def _read(path: Path) -> dict[str, int]:
    try:
        kept = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {key: value for key, value in kept.items() if isinstance(key, str) and type(value) is int}
