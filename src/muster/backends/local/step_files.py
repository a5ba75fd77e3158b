"""Reads which steps a batch job had, from the file that its first worker writes. A job may write anything there."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from muster.backends.base import BatchStep
from muster.model.printable import one_line
from muster.worker.gang.step_records import STEPS_MAX

FILE_BYTES = 16 << 20
"""The most that is read of one file: several times what a job of our own writes."""

_TEXT_CHARS = 1_000


def read_steps(path: Path) -> tuple[BatchStep, ...]:
    """The steps in one file, as they began. Lines that make no sense are passed over."""
    begun: dict[str, dict[str, Any]] = {}
    for line in _lines(path):
        step = _text(line.get("step"))
        if "began_ms" in line and step not in begun and len(begun) < STEPS_MAX:
            begun[step] = line
        elif "ended_ms" in line and step in begun:
            begun[step] = {**line, **begun[step]}
    found = []
    for body in begun.values():
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            found.append(_step(body))
    return tuple(found)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            lines = file.read(FILE_BYTES).splitlines()
    except OSError:
        return
    for line in lines:
        with suppress(ValueError, RecursionError):
            body = json.loads(line)
            if isinstance(body, dict):
                yield body


def _step(body: dict[str, Any]) -> BatchStep:
    return BatchStep(
        step=_text(body["step"]),
        name=_text(body["name"]),
        began_ms=_number(body["began_ms"]),
        tasks=_number(body["tasks"]),
        cpus=_number(body["cpus"]),
        gpus=_number(body["gpus"]),
        nodes=tuple(_text(each) for each in body["nodes"]),
        ended_ms=_known(body, "ended_ms"),
        code=_known(body, "code"),
        max_rss_bytes=_known(body, "max_rss_bytes"),
        max_rss_task=_known(body, "max_rss_task"),
        max_rss_node=_text(body.get("max_rss_node", "")),
        cpu_ms=_known(body, "cpu_ms"),
    )


def _known(body: dict[str, Any], name: str) -> int | None:
    return None if body.get(name) is None else _number(body[name])


NUMBER_MAX = 2**53
"""Numbers beyond this are not the same everywhere in JSON, and no time or amount is so large."""


def _number(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < NUMBER_MAX:
        raise ValueError(value)
    return value


def _text(value: object) -> str:
    """A text that controls no terminal, whatever a job wrote."""
    return one_line(str(value)[:_TEXT_CHARS])
