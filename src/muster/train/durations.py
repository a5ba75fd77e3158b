"""How often, as users write it: "30s", "5m", "1h30m", or a number of steps."""

import re

_UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d)\s*")
_WRITTEN = re.compile(rf"(?:{_PART.pattern})+")

DEFAULT_S = 600.0
"""Outside Muster, when nobody says how often: ten minutes of work are lost at most."""


def steps_of(every: object) -> int | None:
    """The number of steps between saves; None when it is given as a time or not at all."""
    if isinstance(every, bool) or not isinstance(every, int):
        return None
    if every < 1:
        raise ValueError(f"every={every!r}: save after at least one step")
    return every


def seconds_of(every: object) -> float | None:
    """The time between saves; None when it is given in steps or not at all."""
    if every is None or every == "auto" or (isinstance(every, int) and not isinstance(every, bool)):
        return None
    text = every.strip() if isinstance(every, str) else ""
    parts = _PART.findall(text) if _WRITTEN.fullmatch(text) else []
    seconds = sum(float(count) * _UNITS_S[unit] for count, unit in parts)
    if seconds <= 0:
        raise ValueError(f'every={every!r}: write a time such as "30s", "5m" or "1h30m", or a number of steps')
    return seconds
