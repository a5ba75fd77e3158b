"""Reads what trainings measured of themselves, from the files that supervisors write."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

from muster.backends.base import MeasuredStep
from muster.model.ids import JobId
from muster.model.node_limits import MEASURES_SENT
from muster.worker.training.metrics_file import metrics_path


def measured_steps(home: Path, job: JobId, attempts: int) -> tuple[MeasuredStep, ...]:
    """The steps of all attempts, oldest first. Of very many, an even selection with the last one."""
    found = [step for attempt in range(1, attempts + 1) for step in _of_attempt(home, job, attempt)]
    apart = math.ceil(len(found) / MEASURES_SENT) or 1
    return tuple(reversed(found[::-1][::apart]))


def _of_attempt(home: Path, job: JobId, attempt: int) -> Iterator[MeasuredStep]:
    """The lines of one file. A line that is cut off or makes no sense is passed over: a job may write anything."""
    try:
        lines = metrics_path(home, job, attempt).read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        try:
            body = json.loads(line)
            at_ms, step = int(body.pop("at_ms")), int(body.pop("step"))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        values = {str(name): float(value) for name, value in body.items() if _is_number(value)}
        broken = tuple(str(name) for name, value in body.items() if value is None or _is_undefined(value))
        yield MeasuredStep(attempt=attempt, at_ms=at_ms, step=step, values=values, no_numbers=broken)


def _is_undefined(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
