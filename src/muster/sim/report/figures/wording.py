"""Figures as text for people: hours and minutes, per cent, thousands separators, and changes."""

from collections.abc import Sequence

MINUTE_S = 60
HOUR_S = 3_600
DAY_S = 86_400

NOTHING = "–"
"""Shown where there is no figure."""
SPACE = "\u00a0"
"""Keeps a number and its unit on one line."""
MINUS = "\u2212"

_LENGTHS = ((2 * DAY_S, DAY_S, "days"), (HOUR_S, HOUR_S, "h"), (MINUTE_S, MINUTE_S, "min"), (0, 1, "s"))
_MANY = 100
_SAME = 0.0005
"""Changes below a twentieth of a per cent are shown as no change."""
_TIMES_FROM = 10
"""From this factor on growth is shown as a factor: thousands of per cent are hard to read."""


def duration_text(seconds: float | None) -> str:
    """A duration in the largest unit that fits, with at most one decimal."""
    if seconds is None:
        return NOTHING
    if seconds < 0:
        return MINUS + duration_text(-seconds)
    for from_s, unit_s, unit in _LENGTHS:
        if seconds >= from_s:
            return f"{decimal_text(seconds / unit_s)}{SPACE}{unit}"
    return NOTHING


def decimal_text(value: float) -> str:
    """One decimal where it is useful: 0, 3.2, 12, 4,321."""
    return f"{value:,.0f}" if value >= _MANY else f"{value:.1f}".removesuffix(".0")


def ratio_text(value: float | None) -> str:
    """A plain ratio with two decimals, or none if it is large."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= _MANY else f"{value:.2f}"


def percent_text(fraction: float | None) -> str:
    """A fraction in per cent. Small ones keep a second decimal, so that they are not shown as zero."""
    if fraction is None:
        return NOTHING
    percent = 100 * fraction
    digits = 2 if 0 < abs(percent) < 1 else 1
    return f"{percent:,.{digits}f}{SPACE}%"


def count_text(count: float, noun: str = "", plural: str = "") -> str:
    """A number with separators, and its noun in singular or plural if one is given."""
    number = f"{count:,.0f}"
    if not noun:
        return number
    return f"{number}{SPACE}{noun if count == 1 else plural or f'{noun}s'}"


def gpus_text(gpus: float) -> str:
    """A number of GPUs, which may be a fraction."""
    number = f"{gpus:,.3f}".rstrip("0").rstrip(".")
    return f"{number}{SPACE}{'GPU' if gpus == 1 else 'GPUs'}"


def change_text(value: float, base: float) -> str:
    """The change of a figure from its base in per cent; empty if only the base is zero."""
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
    # Nearly 100 % must not be shown as 100 %.
    digits = 0 if _TIMES_FROM <= percent < 99 or percent >= _MANY else 1
    return f"{min(percent, 99.9) if percent < _MANY else percent:.{digits}f}{SPACE}%"


def list_text(words: Sequence[str]) -> str:
    """Words joined with commas and "and"."""
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def shortened(name: str, most: int) -> str:
    """At most `most` characters of a name. Both ends stay, because names often differ at one end only."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"
