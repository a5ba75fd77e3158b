"""The last values of one thing, and whether it is well, suspect or bad.

A thing that has become suspect or bad stays so until all its readings were well inside the limits for a while. So a
link that goes up and down is not in and out of service with it.
"""

from collections import deque

from muster.core.health.limits import Limit, Severity
from muster.model.telemetry import SIGNALS, Signal


class Track:
    """Follows one thing: the temperature of one GPU, a network interface, a check of the operator."""

    __slots__ = (
        "_is_known",
        "_last",
        "_levels",
        "_limit",
        "_seen_ms",
        "_well_ms",
        "evidence_ms",
        "message",
        "severity",
    )

    def __init__(self, limit: Limit, *, is_known: bool = False) -> None:
        """With `is_known`, what its first readings show may have been so for long: then it is no new evidence."""
        self._is_known = is_known
        self._limit = limit
        self._levels: deque[Severity] = deque(maxlen=limit.of)
        self._last: Signal | None = None
        self._seen_ms = 0
        self._well_ms: int | None = None
        """Since when all readings are well inside the limits."""
        self.severity = Severity.WELL
        self.message = ""
        """What is wrong, as the last reading that was not in order showed it."""
        self.evidence_ms = 0
        """When something new last spoke against it. An operator who decided later knew of it."""

    def take(self, signal: Signal, now_ms: int) -> None:
        """Note the next reading."""
        level = Severity.WELL if signal.is_gone else self._limit.severity(signal)
        is_worse_count = self._is_worse_count(signal)
        self._levels.append(level)
        self._last, self._seen_ms = signal, now_ms
        if level is not Severity.WELL:
            self._well_ms = None
        elif self._well_ms is None:
            self._well_ms = now_ms
        if level < Severity.SUSPECT:
            self._is_known &= self.severity > Severity.WELL
            return
        found = self._found()
        if is_worse_count or (found > self.severity and not self._is_known):
            self.evidence_ms = now_ms
        self.severity = max(self.severity, found)
        self.message = self._said(signal)

    def look(self, now_ms: int, clear_ms: int) -> None:
        """Count the thing as well again if it was well inside its limits for long enough.

        Only readings count: time in which nothing was measured says nothing. But a thing that its probe does not report
        any more is well after the same time.
        """
        if self.severity is Severity.WELL or self._well_ms is None:
            return
        is_gone = self._last is not None and self._last.is_gone
        if (now_ms if is_gone else self._seen_ms) - self._well_ms >= clear_ms:
            self.severity, self._is_known = Severity.WELL, False
            self._levels.clear()

    def _is_worse_count(self, signal: Signal) -> bool:
        kind, last = SIGNALS.get(signal.signal), self._last
        return kind is not None and kind.is_counter and last is not None and signal.value > last.value

    def _found(self) -> Severity:
        limit = self._limit
        if sum(level is Severity.BAD for level in self._levels) >= limit.bad_readings:
            return Severity.BAD
        are_many = sum(level >= Severity.SUSPECT for level in self._levels) >= limit.suspect_readings
        return Severity.SUSPECT if are_many else Severity.WELL

    def _said(self, signal: Signal) -> str:
        readings = sum(level >= Severity.SUSPECT for level in self._levels)
        text = self._limit.words.format(
            name=signal.signal,
            value=signal.value,
            rise=signal.rise,
            best=signal.best,
            verdict=signal.verdict,
            readings=f"{readings} of {len(self._levels)}",
        )
        return f"{signal.nic}: {text}" if signal.nic else text
