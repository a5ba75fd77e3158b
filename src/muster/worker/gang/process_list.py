"""All processes of this machine, and telling them something."""

import contextlib
import os
from typing import NamedTuple


class ProcessLine(NamedTuple):
    """What is asked about a process."""

    pid: int
    name: str
    state: str
    parent: int
    group: int


def processes() -> list[ProcessLine]:
    """Every process of this machine."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat") as file:
                text = file.read()
            begin, end = text.index("("), text.rindex(")")
            state, parent, group = text[end + 2 :].split()[:3]
            found.append(ProcessLine(int(name), text[begin + 1 : end], state, int(parent), int(group)))
    return found


def group_is_alive(group: int) -> bool:
    """True while a process of the group has not ended."""
    return any(each.group == group and each.state not in "ZX" for each in processes())


def send_signal(pid: int, number: int) -> None:
    """Send a signal to a process or, if negative, to a group. One that has ended does not mind."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
