"""Starts a process that belongs to a worker: in a session of its own, and with the mark of the worker."""

import os
import signal
from collections.abc import Mapping
from typing import Any

from muster.worker.processes import marks


def spawn(
    command: list[str],
    variables: Mapping[str, str],
    *,
    token: str,
    output: int,
    terminal: str = "",
    given: int = -1,
) -> int:
    """Start a command, and return its process id. `output` takes what it prints, unless it has a terminal.

    It reads from the file `given`, if there is one, and else from nothing.
    """
    if terminal:
        # A terminal that the leader of a new session opens becomes the terminal of that session.
        files: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0)]
        output = 0
    elif given >= 0:
        files = [(os.POSIX_SPAWN_DUP2, given, 0)]
    else:
        files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    copies = [(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)]
    mark = marks.mark_of(token)
    with marks.inherited(mark):
        pid = os.posix_spawn(
            command[0],
            command,
            variables,
            file_actions=[*files, *copies],
            setsid=True,
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGTERM),
        )
    marks.fasten(pid, mark)
    return pid
