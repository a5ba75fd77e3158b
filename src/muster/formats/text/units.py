"""Quantities as people write them <-> the integer units of the model.

Every reader takes a plain value from YAML or JSON and returns an integer in the unit that the reader's name ends in.
Or it raises `BadValue` with what was wrong and what would be right. Decimals are read exactly, and what is finer than
the unit is cut off.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from muster.model.limits import GPUS_PER_NODE
from muster.model.resources import GPU_MILLI

DURATION_UNITS_MS = {
    "w": 7 * 24 * 3_600_000,
    "d": 24 * 3_600_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
MEMORY_UNITS_BYTES: dict[str, int] = {
    **{f"{prefix}iB": 1 << (10 * power) for power, prefix in enumerate("KMGTP", start=1)},
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", start=1)},
    "B": 1,
}
BINARY_UNITS = ("PiB", "TiB", "GiB", "MiB", "KiB")

MEMORY_BYTES_MAX = 1 << 56
"""64 PiB. More on one node is a typing error. It is far below `UNTRACKED`, which stands for what was not stated."""
CPUS_MAX = 100_000
NUMBER_MAX = Decimal(10) ** 17
"""The largest plain number a file may hold: above any number of bytes on a node."""
DURATION_MS_MAX = 100 * 366 * 24 * 3_600_000
"""A century."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_YEAR = 9000
"""Leaves room to add any sum of durations to a time without leaving the calendar."""
LAST_WRITABLE_MS = int((datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH).total_seconds()) * 1000

_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([a-z]+)")
_MEMORY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([a-z]*)", re.IGNORECASE)
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}):([0-9]{2})(?:\.([0-9]{1,12}))?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)
_MEMORY_BY_SPELLING: dict[str, int] = {
    spelling.lower(): size
    for unit, size in MEMORY_UNITS_BYTES.items()
    for spelling in ((unit, unit.removesuffix("B")) if "i" in unit else (unit,))
}


class BadValue(ValueError):
    """A value that cannot be read: what is wrong with it and what would be right."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def shown(value: object) -> str:
    """A value as an error message shows it: short, and safe whatever it contains."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def number(value: object, *, what: str = "a number") -> Decimal:
    """A plain number that is not negative, exactly as written."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        hint = "write it without quotes" if _looks_numeric(value) else ""
        raise BadValue(f"must be {what}, not {shown(value)}", hint)
    if not math.isfinite(value) or value < 0:
        raise BadValue(f"must be {what} that is not negative, not {shown(value)}")
    exact = Decimal(repr(value))
    if exact > NUMBER_MAX:
        raise BadValue(f"{shown(value)} is too large")
    return exact


def milli(value: object) -> int:
    """Thousandths of a plain number, for weights, prices and speeds."""
    return int(number(value) * 1000)


def plain_number(thousandths: int) -> int | float:
    """The inverse of `milli`: a whole number where possible."""
    whole, rest = divmod(thousandths, 1000)
    return thousandths / 1000 if rest else whole


def gpu_milli(value: object) -> int:
    """GPUs of one worker: a whole number of them, or a share of one."""
    count = number(value, what="a number of GPUs such as 8 or 0.25")
    if count > GPUS_PER_NODE:
        raise BadValue(f"{shown(value)} GPUs are more than any node has", f"at most {GPUS_PER_NODE} for each worker")
    if count > 1 and count != int(count):
        raise BadValue(f"{shown(value)} GPUs: above one, only whole GPUs can be given", f"{int(count)} or a share of 1")
    thousandths = int(count * GPU_MILLI)
    if count > 0 and thousandths == 0:
        raise BadValue(f"{shown(value)} is too small a share", "the smallest is 0.001")
    return thousandths


def cpu_milli(value: object) -> int:
    """CPUs in thousandths. Parts of a CPU are allowed."""
    count = number(value, what="a number of CPUs")
    if count > CPUS_MAX:
        raise BadValue(f"{shown(value)} CPUs are more than any node has")
    return int(count * 1000)


def duration_ms(value: object) -> int:
    """A length of time: `90s`, `1h30m`, `7d`, or a plain number of seconds."""
    if isinstance(value, str):
        duration = _duration_text_ms(value)
    else:
        duration = number(value, what="a duration such as 90s, 30m, 12h or 7d") * 1000
    if duration > DURATION_MS_MAX:
        raise BadValue(f"{shown(value)} is longer than a century")
    return int(duration)


def duration_text(duration: int) -> str:
    """Milliseconds in the largest unit that gives a whole number."""
    for unit, unit_ms in DURATION_UNITS_MS.items():
        if unit != "w" and duration and duration % unit_ms == 0:
            return f"{duration // unit_ms}{unit}"
    return "0s"


def memory_bytes(value: object) -> int:
    """An amount of memory or disk: `512GiB`, `80GB`, or a plain number of bytes."""
    size = _memory_text_bytes(value) if isinstance(value, str) else number(value, what="a size such as 512GiB")
    if size > MEMORY_BYTES_MAX:
        raise BadValue(f"{shown(value)} is more than any node has")
    return int(size)


def memory_value(size: int) -> int | str:
    """The inverse of `memory_bytes`: the largest binary unit that gives a whole number, or plain bytes."""
    for unit in BINARY_UNITS:
        if size and size % MEMORY_UNITS_BYTES[unit] == 0:
            return f"{size // MEMORY_UNITS_BYTES[unit]}{unit}"
    return size


def time_ms(value: object) -> int:
    """An RFC 3339 time as milliseconds since 1970 in UTC."""
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise BadValue(f"must be a time such as 2026-01-01T00:00:00Z, not {shown(value)}")
    day, clock, second, fraction, zone = match.groups()
    if zone is None:
        raise BadValue(f"{shown(value)} does not say its time zone", "end it with Z for UTC, or with an offset")
    # RFC 3339 allows a leap second, which the calendar of the standard library does not know.
    leap_s = 1 if second == "60" else 0
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}:{int(second) - leap_s:02}{zone.upper()}")
    except ValueError as error:
        raise BadValue(f"{shown(value)} is not a time: {error}") from None
    if not EPOCH.year <= moment.year < LAST_YEAR:
        raise BadValue(f"{shown(value)} is out of range", f"a time from {EPOCH.year} until {LAST_YEAR}")
    fraction_ms = int((fraction or "0")[:3].ljust(3, "0"))
    return max(0, (moment - EPOCH) // timedelta(milliseconds=1) + leap_s * 1000 + fraction_ms)


def moment_ms(text: str, since_ms: int) -> int:
    """A time, or a length of time after another moment."""
    try:
        return time_ms(text) if "-" in text or ":" in text else since_ms + duration_ms(text)
    except BadValue as error:
        raise BadValue(f"{error.problem}; write 2026-11-18T20:00:00Z, or a length such as 4h", error.hint) from None


def time_text(moment_ms: int) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC, without a fraction where there is none."""
    moment = EPOCH + timedelta(milliseconds=max(0, min(moment_ms, LAST_WRITABLE_MS)))
    precision = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def _looks_numeric(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\s*[0-9]+(\.[0-9]+)?\s*", value, re.ASCII))


def _duration_text_ms(text: str) -> Decimal:
    compact = "".join(text.split()).lower()
    amounts = _AMOUNT.findall(compact)
    units = [unit for _, unit in amounts]
    spelled_out = "".join(f"{amount}{unit}" for amount, unit in amounts)
    if not amounts or spelled_out != compact or any(unit not in DURATION_UNITS_MS for unit in units):
        hint = f"{compact}s for seconds" if _looks_numeric(compact) else ""
        raise BadValue(f"must be a duration such as 90s, 30m, 12h, 7d or 1h30m, not {shown(text)}", hint)
    places = [tuple(DURATION_UNITS_MS).index(unit) for unit in units]
    if places != sorted(set(places)):
        raise BadValue(f"{shown(text)} names its units out of order or twice", "largest first, such as 1h30m")
    return sum((Decimal(amount) * DURATION_UNITS_MS[unit] for amount, unit in amounts), start=Decimal())


def _memory_text_bytes(text: str) -> Decimal:
    match = _MEMORY.fullmatch("".join(text.split()))
    if match is None:
        raise BadValue(f"must be a size such as 512GiB or 80GB, not {shown(text)}")
    amount, unit = match.groups()
    if not unit:
        raise BadValue(f"{shown(text)} has no unit", "for example GiB; plain bytes are written without quotes")
    if unit.lower() not in _MEMORY_BY_SPELLING:
        both = f"write {amount}{unit.upper()}B or {amount}{unit.upper()}iB" if unit.upper() in "KMGTP" else ""
        raise BadValue(f"{shown(text)} has no unit that is known", both or "B, KiB, MiB, GiB, TiB, KB, MB, GB or TB")
    return Decimal(amount) * _MEMORY_BY_SPELLING[unit.lower()]
