"""Moments and durations as they are sent."""

from datetime import datetime, timedelta
from typing import overload

from muster.formats.text.units import EPOCH, LAST_WRITABLE_MS, time_text


@overload
def moment_of(moment_ms: int) -> datetime: ...
@overload
def moment_of(moment_ms: int | None) -> datetime | None: ...
def moment_of(moment_ms: int | None) -> datetime | None:
    """A moment for an answer; None stays None."""
    return None if moment_ms is None else EPOCH + timedelta(milliseconds=max(0, min(moment_ms, LAST_WRITABLE_MS)))


def moment_ms(moment: datetime) -> int:
    """A moment of a request as the engine counts time."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


@overload
def time_of(moment_ms: int) -> str: ...
@overload
def time_of(moment_ms: int | None) -> str | None: ...
def time_of(moment_ms: int | None) -> str | None:
    """A moment in RFC 3339; None stays None."""
    return None if moment_ms is None else time_text(moment_ms)


def seconds(duration_ms: int) -> int | float:
    """A duration in seconds, as a whole number where possible."""
    whole, rest = divmod(duration_ms, 1000)
    return duration_ms / 1000 if rest else whole
