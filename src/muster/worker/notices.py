"""What a program reports about its checkpoints, one line each, in the file named by MUSTER_CHECKPOINT_NOTICE.

saved [cost_ms]            everything is saved; training stood still for this many milliseconds
listening SIGUSR1 pid      this process saves a checkpoint on the signal; without this line no process is signalled,
                           because a program that does not expect the signal dies of it
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINE_BYTES = 4096
"""What a pipe takes in one piece. A program that writes notices never writes a longer line."""


READS = 16
"""How often the pipe is read before other callbacks get their turn."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A complete checkpoint."""

    cost_ms: int = 0


@dataclass(frozen=True, slots=True)
class SignalTarget:
    """A process that may be signalled."""

    pid: int


class NoticeReader:
    """Reads the lines as they come."""

    def __init__(self, path: Path) -> None:
        # Opened for writing too: otherwise it reads as ended while no other process has it open.
        self.file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._rest = b""

    def read(self) -> Iterator[Saved | SignalTarget]:
        """The notices since the last call."""
        for _ in range(READS):
            try:
                data = os.read(self.file, LINE_BYTES)
            except OSError:
                return
            *lines, rest = (self._rest + data).split(b"\n")
            self._rest = rest[:LINE_BYTES]
            yield from (notice for line in lines if (notice := parse(line)) is not None)


def parse(line: bytes) -> Saved | SignalTarget | None:
    """The notice in one line; None when the line is no notice."""
    match line.split():
        case [b"saved"]:
            return Saved()
        case [b"saved", cost] if cost.isdigit() and len(cost) < 12:
            return Saved(int(cost))
        case [b"listening", b"SIGUSR1", pid] if pid.isdigit() and len(pid) < 10:
            return SignalTarget(int(pid))
        case _:
            return None
