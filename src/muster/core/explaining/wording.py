"""How reasons are worded: times, names and lost work, as people say them."""

from collections.abc import Sequence

from muster.model.policy import DAY_MS, HOUR_MS, MINUTE_MS

NAMED = 3
"""How many jobs or nodes a message names. All of them are in `Reason.about`."""
SECOND_MS = 1000


def time_left(ms: int) -> str:
    """A time in its two largest units, rounded up: `9 min 46 s`."""
    for unit_ms, part_ms, names in _UNITS:
        if ms > unit_ms - part_ms:
            return _in_units(-(-ms // part_ms), unit_ms // part_ms, *names)
    return f"{max(-(-ms // SECOND_MS), 0)} s"


def no_more_than(ms: int) -> str:
    """A time in its two largest units, rounded down, for what must not be exceeded."""
    for unit_ms, part_ms, names in _UNITS:
        if ms >= unit_ms:
            return _in_units(ms // part_ms, unit_ms // part_ms, *names)
    return f"{max(ms // SECOND_MS, 0)} s"


_UNITS = ((DAY_MS, HOUR_MS, ("d", "h")), (HOUR_MS, MINUTE_MS, ("h", "min")), (MINUTE_MS, SECOND_MS, ("min", "s")))


def _in_units(parts: int, per_unit: int, unit: str, part: str) -> str:
    whole, left = divmod(parts, per_unit)
    return f"{whole} {unit}" + (f" {left} {part}" if left else "")


def named(names: Sequence[str]) -> str:
    """The first names and how many more there are: `n1, n2, n3 and 2 more`, or `n1 and n2`."""
    if len(names) > NAMED:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def gpu_time(gpu_ms: int) -> str:
    """GPU time as lost work is told: `2.5 GPU hours`, `40 GPU minutes`."""
    if gpu_ms >= HOUR_MS:
        whole, tenths = divmod(-(-gpu_ms * 10 // HOUR_MS), 10)
        return f"{whole:,}.{tenths} GPU hours" if tenths else f"{whole:,} GPU hour{'' if whole == 1 else 's'}"
    minutes = -(-gpu_ms // MINUTE_MS)
    return f"{minutes} GPU minute{'' if minutes == 1 else 's'}"
