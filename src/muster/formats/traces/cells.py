"""One cell of a trace <-> the integer units of the model.

Every reader takes the text of a cell that is not empty and returns a value of the model, or raises `BadValue` with
what was wrong and what would be right. Decimals are read exactly, and what is finer than the unit is cut off.
"""

import re
from decimal import Decimal
from functools import lru_cache

from muster.formats.parts import kinds
from muster.formats.text.units import CPUS_MAX, DURATION_MS_MAX, BadValue, shown
from muster.model.ids import GpuType, JobId, TeamPath, TierName
from muster.model.limits import GANG_WORKERS, GPUS_PER_NODE, PRIORITY_MAX, TEAM_DEPTH
from muster.model.policy import DEFAULT_TIERS
from muster.model.resources import GPU_MILLI
from muster.model.trace import RUN_MS_MIN

GANG_GPUS_MAX = GANG_WORKERS * GPUS_PER_NODE
GANG_CPUS_MAX = GANG_WORKERS * CPUS_MAX
GANG_MEMORY_GB_MAX = 10**9
"""An exabyte. It is below `UNTRACKED`, which stands for resources that were not stated."""
TYPE_SEPARATOR = "|"

_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,2})?")
_DIGITS_MAX = 18
_CACHED = 4096
"""How many different teams, tiers or lists of types are kept after they were read once."""

_KNOWN_TIERS = {tier.name: tier.name for tier in DEFAULT_TIERS}


def number(text: str) -> int | Decimal:
    """A number exactly as written."""
    if text.isdigit() and text.isascii() and len(text) <= _DIGITS_MAX:
        return int(text)
    if _NUMBER.fullmatch(text) is None:
        raise BadValue(f"must be a number, not {shown(text)}")
    return Decimal(text)


def submit_ms(text: str) -> int:
    """A moment in seconds since the trace began."""
    return _milli(text, most=DURATION_MS_MAX // 1000, unit="s")


def run_ms(text: str) -> int:
    """How long a job ran, in seconds."""
    return max(RUN_MS_MIN, submit_ms(text))


def limit_ms(text: str) -> int:
    """How long a job may run, in seconds."""
    limit = submit_ms(text)
    if limit < 1:
        raise BadValue(f"must be above zero, not {shown(text)}", "leave it empty where there is no limit")
    return limit


def gpu_milli(text: str) -> int:
    """GPUs of a whole gang: a whole number of them, or a share of one."""
    milli = _milli(text, most=GANG_GPUS_MAX, unit="GPUs")
    if milli > GPU_MILLI and milli % GPU_MILLI:
        raise BadValue(f"{shown(text)} GPUs: above one, only whole GPUs can be given", "round it up")
    if milli == 0 and number(text) > 0:
        raise BadValue(f"{shown(text)} is too small a share", "the smallest is 0.001")
    return milli


def cpu_milli(text: str) -> int:
    """CPUs of a whole gang. Parts of a CPU are allowed."""
    return _milli(text, most=GANG_CPUS_MAX, unit="CPUs")


def memory_bytes(text: str) -> int:
    """Memory of a whole gang in decimal gigabytes."""
    return int(_bounded(text, most=GANG_MEMORY_GB_MAX, unit="GB") * 10**9)


def priority(text: str) -> int:
    """A whole number on the scale of job files."""
    value = number(text)
    if not 0 <= value <= PRIORITY_MAX or value != int(value):
        raise BadValue(f"must be a whole number from 0 to {PRIORITY_MAX}, not {shown(text)}")
    return int(value)


def job_id(text: str) -> JobId:
    """The id of a job, as other files write it."""
    return JobId(kinds.job_id(text))


@lru_cache(_CACHED)
def team(text: str) -> TeamPath:
    """The path of a team."""
    path = kinds.team_path(text)
    if path.count("/") >= TEAM_DEPTH:
        raise BadValue(f"more than {TEAM_DEPTH} levels of teams")
    return TeamPath(path)


@lru_cache(_CACHED)
def tier(text: str) -> TierName:
    """The name of a tier, also of a tier that only the replay knows."""
    return TierName(kinds.name(text))


def tier_of_class(text: str) -> TierName | None:
    """The default tier that the class of a source names, or None. Other classes mean something else."""
    return _KNOWN_TIERS.get(TierName(text))


@lru_cache(_CACHED)
def gpu_types(text: str) -> tuple[GpuType, ...]:
    """One GPU type or several with `|` between them, each once."""
    return tuple(dict.fromkeys(GpuType(kinds.name(each.strip())) for each in text.split(TYPE_SEPARATOR)))


def milli_text(thousandths: int) -> str:
    """The inverse of reading seconds, GPUs or CPUs in thousandths."""
    return _decimal_text(thousandths, places=3)


def memory_text(size_bytes: int) -> str:
    """The inverse of `memory_bytes`."""
    return _decimal_text(size_bytes, places=9)


def gpu_types_text(types: tuple[GpuType, ...]) -> str:
    """The inverse of `gpu_types`. Empty means every type."""
    return TYPE_SEPARATOR.join(types)


def _bounded(text: str, *, most: int, unit: str) -> int | Decimal:
    value = number(text)
    if value < 0:
        raise BadValue(f"must be a number that is not negative, not {shown(text)}")
    if value > most:
        raise BadValue(f"{shown(text)} is too large", f"at most {most} {unit}")
    return value


def _milli(text: str, *, most: int, unit: str) -> int:
    return int(_bounded(text, most=most, unit=unit) * 1000)


def _decimal_text(amount: int, *, places: int) -> str:
    whole, part = divmod(amount, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0") if part else str(whole)
