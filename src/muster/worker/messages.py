"""Commands and reports as JSON, for messages between a control plane and a supervisor, and for the journal.

A value is written as its fields by name. Fields with their default value are left out. A command or a report also has
its `type`. Unknown fields are ignored, so that either side may be the newer one.
"""

import json
import types
import typing
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

from muster.model.instructions import AskCheckpoint, Command, KillWorkers, SignalStop, StartWorkers
from muster.model.job import Worker
from muster.model.records import REQUIRED, Record, defaults
from muster.model.reports import (
    CheckpointDamaged,
    CheckpointSaved,
    CheckpointUploaded,
    ImagePulled,
    ShardsSaved,
    StartFailed,
    WorkersExited,
    WorkersStarted,
)
from muster.model.spec import JobSpec
from muster.model.telemetry import NodeTested, ProbeNote, RankProgress, Signal, Telemetry

PROTOCOL = 3
"""The version of the protocol. Both sides show theirs when they connect."""

PROTOCOL_OLDEST = 2
"""The oldest version of a supervisor that a control plane can talk to: that of the last release, whose supervisors go
on running while the control plane is replaced."""

CheckpointReport = CheckpointSaved | ShardsSaved | CheckpointUploaded | CheckpointDamaged

WorkerReport = WorkersStarted | WorkersExited | StartFailed | ImagePulled | CheckpointReport
"""What a supervisor reports. What happens to its node is observed by others."""

_COMMANDS = {each.__name__: each for each in (StartWorkers, SignalStop, KillWorkers, AskCheckpoint)}
_REPORTS = {each.__name__: each for each in typing.get_args(WorkerReport)}
_MEASURED = {each.__name__: each for each in (Signal, RankProgress, ProbeNote, NodeTested)}

Decode = Callable[[Any], Any]


class BadMessage(ValueError):
    """The received data is not a message of this protocol."""


def line(message: Mapping[str, object]) -> bytes:
    """A message as it is sent: one line of JSON."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def parsed(text: bytes) -> dict[str, Any]:
    """The message in one line."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadMessage("not JSON") from error
    if not isinstance(message, dict):
        raise BadMessage("not a JSON object")
    return message


def typed(text: str) -> bytes:
    """What was typed, from a message."""
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise BadMessage("not base64") from error


def encoded(value: Command | WorkerReport | Telemetry) -> dict[str, object]:
    """A command, a report or a measured value as plain JSON values."""
    return {"type": type(value).__name__, **_fields(value)}


def plain(value: Worker | JobSpec) -> dict[str, object]:
    """A part of a command as plain JSON values."""
    return _fields(value)


def worker_from(body: Mapping[str, Any]) -> Worker:
    """The worker that these plain JSON values describe."""
    return typing.cast("Worker", _decoded(Worker, body))


def spec_from(body: Mapping[str, Any]) -> JobSpec:
    """The job file that these plain JSON values describe."""
    return typing.cast("JobSpec", _decoded(JobSpec, body))


def command(body: Mapping[str, Any]) -> Command:
    """The command in a message."""
    return typing.cast("Command", _of_kind(_COMMANDS, body))


def report(body: Mapping[str, Any]) -> WorkerReport:
    """The report in a message."""
    return typing.cast("WorkerReport", _of_kind(_REPORTS, body))


def measured(body: Mapping[str, Any]) -> Telemetry:
    """The measured value in a message."""
    return typing.cast("Telemetry", _of_kind(_MEASURED, body))


def _of_kind(kinds: Mapping[str, type], body: Mapping[str, Any]) -> object:
    kind = kinds.get(str(body.get("type")))
    if kind is None:
        raise BadMessage(f"unknown type {body.get('type')!r}")
    return _decoded(kind, body)


def _decoded(kind: type, body: Mapping[str, Any]) -> object:
    try:
        return _decoder(kind)(body)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise BadMessage(f"a malformed {kind.__name__}: {error}") from error


def _fields(value: Any) -> dict[str, object]:
    return {
        name: _plain(each) for name, default in defaults(value.__class__) if (each := getattr(value, name)) != default
    }


def _plain(value: Any) -> object:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, StrEnum):
        return value.value
    return _fields(value) if isinstance(value, Record) else value


@cache
def _decoder(kind: Any) -> Decode:
    """The function that makes a value of this type from plain JSON values."""
    if hasattr(kind, "__supertype__"):
        return _decoder(kind.__supertype__)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        return _tuple_decoder(args)
    if origin in (types.UnionType, typing.Union):
        inner = _decoder(next(each for each in args if each is not type(None)))
        return lambda value: None if value is None else inner(value)
    if issubclass(kind, Record):
        return _record_decoder(kind)
    if issubclass(kind, StrEnum):
        return typing.cast("Decode", kind)
    return _checked(kind)


def _tuple_decoder(args: tuple[Any, ...]) -> Decode:
    if args[-1] is Ellipsis:
        inner = _decoder(args[0])
        return lambda value: tuple([inner(each) for each in value])
    each_of = tuple(_decoder(each) for each in args)
    return lambda value: tuple([decode(each) for decode, each in zip(each_of, value, strict=True)])


def _record_decoder(kind: type[Record]) -> Decode:
    hints = typing.get_type_hints(kind)
    known = [(name, _decoder(hints[name]), default is REQUIRED) for name, default in defaults(kind)]

    def decode(value: Any) -> Any:
        given = {name: inner(value[name]) for name, inner, is_needed in known if is_needed or name in value}
        return kind(**given)

    return decode


def _checked(kind: type) -> Decode:
    def decode(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is not {kind.__name__}")
        return value

    return decode
