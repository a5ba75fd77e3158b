"""Amounts as Slurm writes them -> as a job file writes them."""

import re
from datetime import UTC, datetime, timedelta

from muster.formats.text.units import BadValue, shown

_TIME = re.compile(r"(?:(?P<days>\d{1,5})-)?(?P<rest>\d{1,9}(?::\d{1,9}){0,2})")
_MEMORY = re.compile(r"(\d{1,15})([KMGT]?)B?", re.IGNORECASE)
_GPUS = re.compile(r"(?:(?P<type>[A-Za-z][\w.-]*):)?(?P<count>\d{1,6})")
_FROM_NOW = re.compile(r"now(?:\+([0-9]{1,9})(s|sec\w*|m|min\w*|h|hour\w*|d|day\w*|w|week\w*)?)?", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?")
_TIMES_OF_DAY = {"midnight": "00:00", "noon": "12:00", "elevenses": "11:00", "fika": "15:00", "teatime": "16:00"}
_FOREVER = ("infinite", "unlimited", "-1")


def time_limit(text: str) -> str | None:
    """`30`, `2:30:00`, `1-12:00` and the like as a duration. None for no limit, which 0 is too, as in Slurm."""
    if text.lower() in _FOREVER:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadValue(f"must be a time such as 90, 12:00:00 or 1-12:00, not {shown(text)}")
    parts = [int(part) for part in match["rest"].split(":")]
    if match["days"] is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    total = ((int(match["days"] or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    return f"{total}s" if total else None


def begin(text: str, now: datetime) -> str:
    """`now+1hour`, `16:00`, `tomorrow` or `2026-01-20T12:34` as a job file has it. `now` knows its zone."""
    match = _FROM_NOW.fullmatch(text)
    if match is not None:
        seconds = int(match[1] or 0) * next(
            each for word, each in _SECONDS.items() if (match[2] or "s").startswith(word)
        )
        return f"{seconds}s"
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in _TIMES_OF_DAY or _CLOCK.fullmatch(text):
        hour, minute, *second = map(int, _TIMES_OF_DAY.get(text, text).split(":"))
        found = midnight.replace(hour=hour, minute=minute, second=second[0] if second else 0)
        found += timedelta(days=1) if found <= now else timedelta()
    elif text in ("today", "tomorrow"):
        found = midnight + timedelta(days=1) if text == "tomorrow" else now
    else:
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise BadValue(f"must be a time such as 16:00, now+1hour or 2026-01-20T12:34, not {shown(text)}") from None
    local = found if found.tzinfo is not None else found.replace(tzinfo=now.tzinfo)
    return local.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def memory_bytes(text: str) -> int:
    """`4000` is in megabytes, as everywhere in Slurm. `64G` has its own unit. Units are powers of 1024."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise BadValue(f"must be a size such as 4000M or 64G, not {shown(text)}")
    return int(match[1]) << (10 * ("KMGT".index((match[2] or "M").upper()) + 1))


def gpus(text: str) -> tuple[str, int]:
    """`h100:8` or `8`: the type, empty when none is named, and how many."""
    match = _GPUS.fullmatch(text)
    if match is None:
        raise BadValue(f"must be a number of GPUs such as 8 or h100:8, not {shown(text)}", "one type only")
    return (match["type"] or "").lower(), int(match["count"])


def gres_gpus(text: str) -> tuple[str, int] | None:
    """The GPUs in `gpu:h100:8,nvme:1`. None when there are none."""
    for part in text.split(","):
        kind, _, rest = part.removeprefix("gres/").partition(":")
        if kind == "gpu":
            return gpus(rest) if rest else ("", 1)
    return None


def whole(text: str) -> int:
    """A whole number from 1 to 1,000,000."""
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise BadValue(f"must be a whole number above zero, not {shown(text)}")
    return int(text)


def fewest(text: str) -> tuple[int, bool]:
    """The smaller end of `2-4`, and whether there was a range."""
    low, dash, _ = text.partition("-")
    return whole(low), bool(dash)
