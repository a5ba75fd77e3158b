"""Network interfaces, disk, memory and clock of this machine, as the kernel shows them.

An interface counts once it was seen up. One that never had a link is not in use, and no fault.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from muster.model.ids import NodeName
from muster.model.telemetry import Signal

_STA_UNSYNC, _STA_NANO = 0x0040, 0x2000


class _Timex(ctypes.Structure):
    """The beginning of the kernel's `struct timex`. What follows is only room for the kernel to write to."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    )


@dataclass(slots=True)
class MachineProbe:
    """Looks at this machine. It remembers which interfaces had a link."""

    node: NodeName
    home: Path
    sys: Path = Path("/sys")
    is_shared: bool = False
    """True when several nodes share this machine."""
    _seen_up: dict[str, None] = field(default_factory=dict)

    def look(self, at_ms: int) -> tuple[Signal, ...]:
        """What can be measured. What cannot be read is left out."""
        found = (*self._nics(), *self._disk(), *self._memory(), *self._clock())
        return tuple(
            Signal(node=self.node, at_ms=at_ms, signal=name, value=value, nic=nic, is_shared=self.is_shared)
            for name, value, nic in found
        )

    def _nics(self) -> Iterator[tuple[str, int, str]]:
        for nic in self._watched():
            folder = self.sys / "class/net" / nic
            is_up = _text(folder / "operstate") == "up"
            if is_up:
                self._seen_up[nic] = None
            if nic not in self._seen_up:
                continue
            yield "nic_down", int(not is_up), nic
            speed = _number(folder / "speed") if is_up else None
            if speed is not None and speed > 0:
                yield "nic_speed", speed, nic
            errors = [_number(folder / "statistics" / each) for each in ("rx_errors", "tx_errors")]
            if None not in errors:
                yield "nic_errors", sum(each or 0 for each in errors), nic

    def _watched(self) -> list[str]:
        """Interfaces with hardware behind them; where there are none, as in a container, those named like such."""
        net = self.sys / "class/net"
        names = sorted(os.listdir(net)) if net.is_dir() else []
        real = [name for name in names if (net / name / "device").exists()]
        usual = real or [name for name in names if name.startswith(("eth", "en", "ib"))]
        return [*usual, *(name for name in self._seen_up if name not in usual)]

    def _disk(self) -> Iterator[tuple[str, int, str]]:
        with suppress(OSError):
            found = os.statvfs(self.home)
            yield "disk_free", found.f_bavail * found.f_frsize, ""
        errors = [_number(path) for path in sorted((self.sys / "fs/ext4").glob("*/errors_count"))]
        if errors:
            yield "disk_errors", sum(each or 0 for each in errors), ""

    def _memory(self) -> Iterator[tuple[str, int, str]]:
        errors = [_number(path) for path in sorted((self.sys / "devices/system/edac/mc").glob("mc*/ue_count"))]
        if errors:
            yield "memory_errors", sum(each or 0 for each in errors), ""

    def _clock(self) -> Iterator[tuple[str, int, str]]:
        """The offset that the kernel is correcting, if something keeps the clock right and can tell."""
        found = _Timex()
        try:
            state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(found))
        except (OSError, AttributeError):
            return
        if state >= 0 and not found.status & _STA_UNSYNC:
            yield "clock_offset", found.offset // (1_000_000 if found.status & _STA_NANO else 1_000), ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.lstrip("-").isdecimal() else None
