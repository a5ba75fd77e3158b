"""Finds the supervisor of a node, and connects to it."""

import json
import os
import socket
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from muster.processes import is_same
from muster.worker.processes.process_table import boot_id
from muster.worker.service import address


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorAddress:
    """A living supervisor."""

    pid: int
    start_ticks: int
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorLine:
    """A connection to the supervisor, and what it wants to be shown."""

    channel: socket.socket
    token: str


def supervisor_address(folder: Path) -> SupervisorAddress | None:
    """The supervisor of a node, if it is alive; never another process that has its pid by now."""
    try:
        said = json.loads((folder / "supervisor.json").read_text())
        found = SupervisorAddress(pid=said["pid"], start_ticks=said["start_ticks"], token=said["token"])
        is_alive = said["boot"] == boot_id() and is_same(found.pid, found.start_ticks)
        return found if is_alive and _serves(found.pid, folder) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _serves(pid: int, folder: Path) -> bool:
    """True when the process was started as the supervisor of this node of this home.

    The process may be killed, so one proof is not enough: a copied home has the same `supervisor.json` as the original.
    """
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    asked = dict(pairwise(arguments))
    home = os.fsencode(folder.parent.parent)
    return asked.get(b"--node") == folder.name.encode() and asked.get(b"--home") == home


def reach(folder: Path) -> socket.socket | None:
    """A connection to the supervisor that keeps this folder, if it accepts one."""
    try:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    except OSError:
        return None
    try:
        place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            channel.connect(address(place))
        finally:
            os.close(place)
    except OSError:
        channel.close()
        return None
    return channel


def supervisor_line(folder: Path) -> SupervisorLine | None:
    """A connection to the supervisor that lives, if it accepts one."""
    found = supervisor_address(folder)
    channel = None if found is None else reach(folder)
    return None if found is None or channel is None else SupervisorLine(channel=channel, token=found.token)
