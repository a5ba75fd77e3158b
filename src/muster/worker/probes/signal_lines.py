"""Reads what the command of an operator prints: one signal in JSON on each line. A line that is wrong says how."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from muster.model.ids import NodeName
from muster.model.limits import GPUS_PER_NODE
from muster.model.node_limits import PROBE_SIGNALS
from muster.model.telemetry import CUSTOM, SIGNALS, VERDICTS, Signal, is_custom

VALUE_MOST = 1 << 60
"""Values are below this, so that they can be added and multiplied by a thousand in 64 bits nearly everywhere."""

NIC_CHARS = 64
_KEYS = ("signal", "value", "verdict", "gpu", "nic")


class BadLine(ValueError):
    """A line is no signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalLines:
    """What a command printed."""

    signals: tuple[Signal, ...]
    problem: str = ""
    """What is wrong with the first wrong line; empty when all are right."""


def read_signals(output: bytes, node: NodeName, at_ms: int) -> SignalLines:
    """The signals on all lines. Wrong lines are left out, and the first of them is told."""
    found: dict[tuple[object, ...], Signal] = {}
    problem = ""
    for number, line in enumerate(_lines(output), start=1):
        try:
            signal = _signal(line, node, at_ms)
        except BadLine as error:
            problem = problem or f"line {number}: {error}"
            continue
        if signal.subject in found or len(found) < PROBE_SIGNALS:
            found[signal.subject] = signal
        else:
            problem = problem or f"line {number}: more than {PROBE_SIGNALS} signals"
    return SignalLines(signals=tuple(found.values()), problem=problem)


def _lines(output: bytes) -> Iterator[bytes]:
    return (line for line in output.splitlines() if line.strip())


def _signal(line: bytes, node: NodeName, at_ms: int) -> Signal:
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine("not JSON") from error
    if not isinstance(body, dict):
        raise BadLine("not a JSON object")
    strange = [key for key in body if key not in _KEYS]
    if strange:
        raise BadLine(f"unknown key {strange[0][:40]!r}; known are {', '.join(_KEYS)}")
    name = body.get("signal")
    if not isinstance(name, str) or not (name in SIGNALS or is_custom(name)):
        raise BadLine(f"unknown signal {str(name)[:80]!r}; known are {', '.join(SIGNALS)}, {CUSTOM}NAME")
    return Signal(
        node=node,
        at_ms=at_ms,
        signal=name,
        value=_value(name, body),
        verdict=_verdict(name, body),
        gpu=_gpu(name, body),
        nic=_nic(body),
    )


def _value(name: str, body: dict[str, object]) -> int:
    kind, value = SIGNALS.get(name), body.get("value")
    if value is None and (kind is None or kind.is_flag):
        return 0 if kind is None else 1
    if isinstance(value, bool) and (kind is None or kind.is_flag):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < VALUE_MOST:
        raise BadLine(f"the value of {name} must be a number")
    if value < 0 and name != "clock_offset" and kind is not None:
        raise BadLine(f"the value of {name} must not be negative")
    return round(value)


def _verdict(name: str, body: dict[str, object]) -> str:
    verdict = body.get("verdict")
    if name in SIGNALS:
        if verdict is not None:
            raise BadLine(f"{name} has a value and no verdict; verdicts are for {CUSTOM}NAME")
        return ""
    if not isinstance(verdict, str) or verdict not in VERDICTS:
        raise BadLine(f"{name} needs a verdict: {', '.join(VERDICTS)}")
    return verdict


def _gpu(name: str, body: dict[str, object]) -> int | None:
    gpu, kind = body.get("gpu"), SIGNALS.get(name)
    if gpu is None:
        if kind is not None and kind.is_of_gpu:
            raise BadLine(f"{name} needs a gpu")
        return None
    if isinstance(gpu, bool) or not isinstance(gpu, int) or not 0 <= gpu < GPUS_PER_NODE:
        raise BadLine(f"gpu must be a number from 0 to {GPUS_PER_NODE - 1}")
    return gpu


def _nic(body: dict[str, object]) -> str:
    nic = body.get("nic", "")
    if not isinstance(nic, str) or len(nic) > NIC_CHARS or not nic.isprintable():
        raise BadLine(f"nic must be a name of up to {NIC_CHARS} characters")
    return nic
