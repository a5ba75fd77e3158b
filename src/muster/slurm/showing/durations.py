"""Times and durations as Slurm writes and reads them."""

import re
from datetime import datetime, timedelta

UNKNOWN = "Unknown"
UNLIMITED = "UNLIMITED"

_UNITS_S = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_DURATION = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_RELATIVE = re.compile(r"now(?:([+-])(\d+)([a-z]*))?")
_MOMENTS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%m/%d/%y-%H:%M:%S", "%m/%d/%y", "%m/%d", "%m%d%y")
_CLOCKS = ("%H:%M:%S", "%H:%M")


def long_time(seconds: float | None) -> str:
    """`[D-]HH:MM:SS`, as sacct and scontrol write it."""
    if seconds is None:
        return UNLIMITED
    days, rest = divmod(max(int(seconds), 0), 86_400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


def precise_time(seconds: float) -> str:
    """`MM:SS.mmm` below an hour, as sacct writes processor time."""
    return f"{int(seconds // 60):02}:{seconds % 60:06.3f}" if seconds < 3600 else long_time(seconds)


def short_time(seconds: float | None) -> str:
    """`[D-][H:]MM:SS` without leading hours of zero, as squeue writes it."""
    text = long_time(seconds)
    if seconds is None or "-" in text:
        return text
    hours, minutes, rest = text.split(":")
    return f"{int(hours)}:{minutes}:{rest}" if int(hours) else f"{int(minutes)}:{rest}"


def moment_text(moment: datetime | None, otherwise: str = UNKNOWN) -> str:
    """A moment in local time, as all commands write it."""
    return otherwise if moment is None else moment.astimezone().strftime("%Y-%m-%dT%H:%M:%S")


def unix_time(moment: datetime | None) -> int:
    """A moment as JSON has it; 0 when it is not known."""
    return 0 if moment is None else int(moment.timestamp())


def read_duration(text: str) -> float | None:
    """Seconds from `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`; None without a limit. Raises `ValueError`."""
    if text.upper() in (UNLIMITED, "INFINITE", "-1"):
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    days, *parts = match.groups()
    numbers = [int(each) for each in parts if each is not None]
    if days is not None:
        numbers += [0] * (3 - len(numbers))
    elif len(numbers) < 3:
        numbers = [0, *numbers, *[0] * (2 - len(numbers))]
    hours, minutes, seconds = numbers
    return int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds


def read_moment(text: str, now: datetime) -> datetime:
    """A moment as the options `-S` and `-E` take it: a date, a time of today, `now-2days`. Raises `ValueError`."""
    named = {"midnight": 0, "noon": 12, "today": 0}
    if text in named:
        return now.replace(hour=named[text], minute=0, second=0, microsecond=0)
    if relative := _RELATIVE.fullmatch(text):
        sign, amount, unit = relative.groups()
        each_s = next((length_s for name, length_s in _UNITS_S.items() if unit and name.startswith(unit[:3])), 1)
        return now + timedelta(seconds=int(amount or 0) * each_s * (-1 if sign == "-" else 1))
    for form in _MOMENTS:
        if (found := _read(text, form)) is not None:
            year = now.year if found.year == 1900 else found.year
            return found.replace(year=year, tzinfo=now.tzinfo)
    for form in _CLOCKS:
        if (clock := _read(text, form)) is not None:
            return now.replace(hour=clock.hour, minute=clock.minute, second=clock.second, microsecond=0)
    raise ValueError(text)


def _read(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 (the caller adds the zone)
    except ValueError:
        return None
