"""Figures as people say them: hours and minutes, per cent, thousands separators, and changes in words."""

from collections.abc import Sequence

MINUTE_S = 60
HOUR_S = 3_600
DAY_S = 86_400

NOTHING = "–"
"""Stands where there is no figure."""
SPACE = "\u00a0"
"""Keeps a number and its unit on one line."""
MINUS = "\u2212"

_LENGTHS = ((2 * DAY_S, DAY_S, "days"), (HOUR_S, HOUR_S, "h"), (MINUTE_S, MINUTE_S, "min"), (0, 1, "s"))
_MANY = 100
_SAME = 0.0005
"""Changes below a twentieth of a per cent read as none."""
_TIMES_FROM = 10
"""Growth from this factor on is said as a factor: per cents in the thousands say nothing to anybody."""


def duration_text(seconds: float | None) -> str:
    """A length of time in the largest unit that suits it, with at most one decimal."""
    if seconds is None:
        return NOTHING
    if seconds < 0:
        return MINUS + duration_text(-seconds)
    for from_s, unit_s, unit in _LENGTHS:
        if seconds >= from_s:
            return f"{decimal_text(seconds / unit_s)}{SPACE}{unit}"
    return NOTHING


def decimal_text(value: float) -> str:
    """One decimal where it tells something: 0, 3.2, 12, 4,321."""
    return f"{value:,.0f}" if value >= _MANY else f"{value:.1f}".removesuffix(".0")


def ratio_text(value: float | None) -> str:
    """A plain ratio with two decimals, unless it is so large that they say nothing."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= _MANY else f"{value:.2f}"


def percent_text(fraction: float | None) -> str:
    """A fraction in per cent; small ones keep a second decimal so that they do not read as none."""
    if fraction is None:
        return NOTHING
    percent = 100 * fraction
    digits = 2 if 0 < abs(percent) < 1 else 1
    return f"{percent:,.{digits}f}{SPACE}%"


def count_text(count: float, noun: str = "", plural: str = "") -> str:
    """A number with separators, and its noun in the right form if one is given."""
    number = f"{count:,.0f}"
    if not noun:
        return number
    return f"{number}{SPACE}{noun if count == 1 else plural or f'{noun}s'}"


def gpus_text(gpus: float) -> str:
    """A number of GPUs, of which there may be a part."""
    number = f"{gpus:,.3f}".rstrip("0").rstrip(".")
    return f"{number}{SPACE}{'GPU' if gpus == 1 else 'GPUs'}"


def change_text(value: float, base: float) -> str:
    """How far a figure is from the one it is compared with, in per cent; empty when that cannot be said."""
    if base == 0:
        return "" if value else "same"
    change = value / base - 1
    if abs(change) < _SAME:
        return "same"
    if value / base >= _TIMES_FROM:
        return f"{value / base:,.0f}×"
    sign = "+" if change > 0 else MINUS
    return f"{sign}{_percent(abs(change))}"


def _percent(fraction: float) -> str:
    percent = 100 * fraction
    # Nearly all of it must not read as all of it.
    digits = 0 if _TIMES_FROM <= percent < 99 or percent >= _MANY else 1
    return f"{min(percent, 99.9) if percent < _MANY else percent:.{digits}f}{SPACE}%"


def list_text(words: Sequence[str]) -> str:
    """Words joined as in a sentence."""
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def shortened(name: str, most: int) -> str:
    """At most so many characters of a name. Both ends stay: names often differ in one of them only."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"
