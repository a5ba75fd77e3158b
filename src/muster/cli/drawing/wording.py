"""How things are written for people: durations, moments, amounts."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_UNITS_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def now() -> datetime:
    """The present."""
    return datetime.now(UTC)


def duration(seconds: float) -> str:
    """`2h10m`, by the two largest units that matter."""
    rest = max(0, int(seconds))
    parts: list[str] = []
    for unit, size in _UNITS_S.items():
        count, rest = divmod(rest, size)
        if count or parts:
            parts.append(f"{count}{unit}" if count else "")
        if len(parts) == 2:
            break
    return "".join(parts) or "0s"


def between(start: datetime | None, end: datetime) -> str:
    """How long from one moment to another. Empty when there is no start."""
    return "" if start is None else duration((end - start).total_seconds())


def until(moment: datetime, present: datetime) -> str:
    """`in 5m`, or `now`."""
    left = (moment - present).total_seconds()
    return f"in {duration(left)}" if left >= 1 else "now"


def moment(at: datetime | None) -> str:
    """A moment on this machine's clock."""
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def clock(at: datetime | None, present: datetime) -> str:
    """A moment as short as possible: only the time if it is less than 12 hours away, else the day too."""
    if at is None:
        return ""
    local = at.astimezone()
    near = abs(present - at) < timedelta(hours=12)
    return local.strftime("%H:%M:%S" if near else "%Y-%m-%d %H:%M")


def amount(value: float | None) -> str:
    """A number without a useless fraction."""
    return "" if value is None else f"{value:g}" if abs(value) < 1_000_000 else f"{value:.0f}"


def size(number: int) -> str:
    """Bytes in the largest binary unit that fits, such as `1.5 GiB`."""
    amount_of, unit = float(number), 0
    while amount_of >= 1024 and unit < len(_SIZES) - 1:
        amount_of, unit = amount_of / 1024, unit + 1
    return f"{amount_of:.0f} {_SIZES[unit]}" if unit == 0 or amount_of >= 100 else f"{amount_of:.1f} {_SIZES[unit]}"


def gpu_hours(gpu_seconds: float) -> str:
    """GPU time in hours, exact enough for people."""
    hours = gpu_seconds / 3_600
    return (
        f"{hours:,.0f} GPU-h" if hours >= 100 else f"{hours:.1f} GPU-h" if hours >= 0.1 else f"{gpu_seconds:.0f} GPU-s"
    )


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 job`, `2 jobs`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def ranks(numbers: Iterable[int]) -> str:
    """`0-7,12`: numbers with neighbours joined."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
