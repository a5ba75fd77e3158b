"""What the log knows about the health of a node, and the signals that are measured on nodes.

Measured values themselves are not in the log: see `telemetry`.
"""

import re

from muster.model.records import Record

VERDICTS_KEPT = 8
"""How many verdicts on a node are remembered. More make no difference to how long its next return takes."""

CUSTOM = "custom."
"""The beginning of the names of signals that an operator defines."""

VERDICTS = ("ok", "suspect", "bad")
"""What a custom signal can say."""

_CUSTOM_NAME = re.compile(r"custom\.[A-Za-z0-9_.-]{1,64}")


class HealthRecord(Record, frozen=True, kw_only=True):
    """What is remembered about the health of one node."""

    since_ms: int = 0
    """When the node came into its present state; 0 while it is in its first."""
    overruled_ms: int = 0
    """When an operator last put the node back into service; 0 for never."""
    verdicts_ms: tuple[int, ...] = ()
    """When health took out the node or one of its GPUs, oldest first: the last few times."""


class SignalKind(Record, frozen=True, kw_only=True):
    """What a measured value of one name means."""

    unit: str
    is_counter: bool = False
    """It only grows, so what matters is by how much it rose lately."""
    is_grave: bool = False
    """A counter that should be zero: what it shows when it is first seen counts as a rise."""
    is_flag: bool = False
    """Zero or not. Without a value it means one."""
    is_of_gpu: bool = False


SIGNALS: dict[str, SignalKind] = {
    "gpu_temperature": SignalKind(unit="°C", is_of_gpu=True),
    "gpu_throttled": SignalKind(unit="", is_flag=True, is_of_gpu=True),
    "gpu_ecc_corrected": SignalKind(unit="errors", is_counter=True, is_of_gpu=True),
    "gpu_ecc_uncorrected": SignalKind(unit="errors", is_counter=True, is_grave=True, is_of_gpu=True),
    "gpu_xid": SignalKind(unit="errors", is_counter=True, is_grave=True, is_of_gpu=True),
    "gpu_lost": SignalKind(unit="", is_flag=True, is_of_gpu=True),
    "gpu_power": SignalKind(unit="W", is_of_gpu=True),
    "nic_speed": SignalKind(unit="Mbit/s"),
    "nic_errors": SignalKind(unit="errors", is_counter=True),
    "nic_down": SignalKind(unit="", is_flag=True),
    "disk_free": SignalKind(unit="bytes"),
    "disk_errors": SignalKind(unit="errors", is_counter=True),
    "memory_errors": SignalKind(unit="errors", is_counter=True),
    "clock_offset": SignalKind(unit="ms"),
}
"""All names of signals but those of operators, which begin with `custom.`."""


def is_custom(name: str) -> bool:
    """True for the name of a signal that an operator defines."""
    return _CUSTOM_NAME.fullmatch(name) is not None
