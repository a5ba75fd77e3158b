"""What a program reports about its training, one line each, in the file named by MUSTER_CHECKPOINT_NOTICE.

saved [cost_ms]            everything is saved; training stood still for this many milliseconds
listening SIGUSR1 pid      this process saves a checkpoint on the signal; without this line no process is signalled,
                           because a program that does not expect the signal dies of it
board rank                 this rank has made its board
stacks rank pid SIGUSR2    this process writes its stacks into `rank-N.stack` beside its board on the signal
shard {…}                  this rank's part of a checkpoint is on disk
uploaded {…}               a checkpoint is in durable storage, or could not be copied there yet
damaged {…}                a part cannot be restored from any place
metrics {…}                what the program measures of itself

A job writes these lines, so nothing about them is trusted: a line that is not exactly right means nothing.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LINE_BYTES = 4096
"""What a pipe takes in one piece. A program that writes notices never writes a longer line."""

READS = 16
"""How often the pipe is read before other callbacks get their turn."""

RANKS_MOST = 1 << 20
"""Ranks are below this, and no world is larger: ten times the largest training runs."""

COUNT_MOST = 1 << 53
"""Steps, bytes and milliseconds are below this, so that every reader of JSON takes them as they are."""

METRICS_MOST = 64
METRIC_NAME_CHARS = 64
"""How many values one line of metrics has at the most, and how long their names are: more than a chart shows."""

PROBLEM_CHARS = 1_000
"""How much of a problem is reported: an error of an object store with its address fits."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A complete checkpoint."""

    cost_ms: int = 0


@dataclass(frozen=True, slots=True)
class SignalTarget:
    """A process that may be signalled."""

    pid: int


@dataclass(frozen=True, slots=True)
class BoardMade:
    """A rank has made its board, for the first time or again."""

    rank: int


@dataclass(frozen=True, slots=True)
class StackTarget:
    """A process that writes its stacks when it is signalled."""

    rank: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardWritten:
    """A rank's part of a checkpoint is on disk."""

    step: int
    rank: int
    world: int
    bytes: int = 0
    cost_ms: int = 0
    took_ms: int = 0
    """From the step that was saved until the part was on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """A checkpoint is in durable storage, or could not be copied there yet."""

    step: int
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A part cannot be restored from any place."""

    step: int
    rank: int
    problem: str
    is_replaced: bool = False
    """True when the ranks have agreed on an older checkpoint and go on."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What the program measures of itself. A value that is no number is None."""

    values: dict[str, float | int | None]


TrainingNotice = BoardMade | StackTarget | ShardWritten | Uploaded | Damaged | Measures
Notice = Saved | SignalTarget | TrainingNotice


class NoticeReader:
    """Reads the lines as they come."""

    def __init__(self, path: Path) -> None:
        # Opened for writing too: otherwise it reads as ended while no other process has it open.
        self.file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._rest = b""
        self._is_skipping = False
        """True inside of a line that is too long, whose end means nothing either."""

    def read(self) -> Iterator[Notice]:
        """The notices since the last call."""
        for _ in range(READS):
            try:
                data = os.read(self.file, LINE_BYTES)
            except OSError:
                return
            *lines, rest = (self._rest + data).split(b"\n")
            if lines and self._is_skipping:
                del lines[0]
                self._is_skipping = False
            self._is_skipping = self._is_skipping or len(rest) >= LINE_BYTES
            self._rest = b"" if self._is_skipping else rest
            yield from (notice for line in lines if (notice := parse(line)) is not None)


def parse(line: bytes) -> Notice | None:
    """The notice in one line; None when the line is no notice."""
    match line.split():
        case [b"saved"]:
            return Saved()
        case [b"saved", cost] if _is_number(cost, 12):
            return Saved(int(cost))
        case [b"listening", b"SIGUSR1", pid] if _is_number(pid, 10):
            return SignalTarget(int(pid))
        case [b"board", rank] if _is_number(rank, 8) and int(rank) < RANKS_MOST:
            return BoardMade(int(rank))
        case [b"stacks", rank, pid, b"SIGUSR2"] if _is_number(rank, 8) and _is_number(pid, 10):
            return StackTarget(int(rank), int(pid)) if int(rank) < RANKS_MOST else None
        case [b"shard" | b"uploaded" | b"damaged" | b"metrics" as kind, *_] if len(line) < LINE_BYTES:
            return _of_body(kind, line.strip().removeprefix(kind))
        case _:
            return None


def _is_number(word: bytes, digits: int) -> bool:
    return word.isdigit() and len(word) < digits


def _of_body(kind: bytes, text: bytes) -> TrainingNotice | None:
    try:
        body = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    match kind:
        case b"shard":
            return _shard(body)
        case b"uploaded":
            step, problem = _count(body.get("step")), _problem(body.get("problem", ""))
            return None if step is None or problem is None else Uploaded(step=step, problem=problem)
        case b"damaged":
            return _damaged(body)
        case _:
            return _measures(body)


def _shard(body: dict[str, Any]) -> ShardWritten | None:
    step, rank, world = (_count(body.get(name)) for name in ("step", "rank", "world"))
    size, cost, took = (_count(body.get(name, 0)) for name in ("bytes", "cost_ms", "took_ms"))
    if step is None or rank is None or world is None or size is None or cost is None or took is None:
        return None
    if not rank < world <= RANKS_MOST:
        return None
    return ShardWritten(step=step, rank=rank, world=world, bytes=size, cost_ms=cost, took_ms=took)


def _damaged(body: dict[str, Any]) -> Damaged | None:
    step, rank, problem = _count(body.get("step")), _count(body.get("rank")), _problem(body.get("problem"))
    if step is None or rank is None or rank >= RANKS_MOST or not problem:
        return None
    return Damaged(step=step, rank=rank, problem=problem, is_replaced=body.get("replaced") is True)


def _measures(body: dict[str, Any]) -> Measures | None:
    if _count(body.get("step")) is None or len(body) > METRICS_MOST:
        return None
    if any(len(name) > METRIC_NAME_CHARS or not name.isprintable() for name in body):
        return None
    return Measures({name: _value(value) for name, value in body.items()})


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < COUNT_MOST else None


def _problem(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return "".join(char if char.isprintable() else " " for char in value[:PROBLEM_CHARS]).strip()


def _value(value: object) -> float | int | None:
    if type(value) is float:
        return value if abs(value) < float("inf") else None
    return value if type(value) is int and abs(value) < COUNT_MOST else None
