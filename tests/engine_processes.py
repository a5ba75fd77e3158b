"""Which processes of a node are agents of Muster, and which are their supervisors: copies of them."""

import json
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol


class Machines(Protocol):
    """The nodes of an engine, which tests can switch off."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Their names."""
        ...

    def processes_on(self, node: str) -> Iterable[int]:
        """What a node runs for Muster, as this machine numbers it."""
        ...

    def switch_off(self, node: str) -> None:
        """A machine dies, with everything that it runs."""

    def switch_on(self, node: str) -> None:
        """It is back."""


def agents_among(processes: Iterable[int]) -> list[int]:
    """Agents, without the shells that begin them anew."""
    found = [process for process in processes if _home(process) is not None]
    leading = supervisors_among(found)
    return [process for process in found if process not in leading]


def supervisors_among(processes: Iterable[int]) -> list[int]:
    """Those that a home names as the supervisor of its node. A pod has a root and numbers of its own."""
    return [process for process in processes if _own_number(process) in _named(process)]


def kill_all(processes: Iterable[int]) -> bool:
    """Kill processes at once; True if there was one."""
    killed = False
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            killed = True
    return killed


def _home(process: int) -> Path | None:
    """The home of an agent, as it sees it; None for any other process."""
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        if b"--post" in words and b"--home" in words and b"python" in os.path.basename(words[0]):
            return Path(words[words.index(b"--home") + 1].decode())
    return None


def _named(process: int) -> list[int]:
    home = _home(process)
    if home is None:
        return []
    found = []
    for told in (Path(f"/proc/{process}/root") / home.relative_to("/") / "nodes").glob("*/supervisor.json"):
        with suppress(OSError, ValueError, KeyError):
            found.append(int(json.loads(told.read_text("utf-8"))["pid"]))
    return found


def _own_number(process: int) -> int:
    """Its number in its own namespace."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text("utf-8").splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return 0
