"""Starts a supervisor. The command returns when the supervisor accepts connections, or when it failed to start."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from muster.home import Home
from muster.model.node_limits import SUPERVISOR_START_MS
from muster.private_files import open_private
from muster.worker.loop import Loop
from muster.worker.program import program

KILL_WAIT_S = 1.0
"""How long to wait until a killed command is gone. One that waits for a disk may take for ever, and is left behind."""


class Starting:
    """The command that starts the supervisor of one node."""

    def __init__(
        self, home: Path, node: str, loop: Loop, ended: Callable[[int], None], options: tuple[str, ...] = ()
    ) -> None:
        """Run the command; `ended` gets its exit code. Raises `OSError` when it cannot be run."""
        self._loop = loop
        self._ended = ended
        self._process = _launched(home, node, options)
        try:
            self._handle: int | None = os.pidfd_open(self._process.pid)
        except OSError:
            self._handle = None
            self.kill()  # if the supervisor has come up nevertheless, the next try finds it
            raise
        loop.watch(self._handle, readable=self._end)

    def kill(self) -> None:
        """Kill the command, without calling `ended`."""
        self._forget()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_WAIT_S)

    def wait(self) -> None:
        """Wait until the command has ended, so that others find the supervisor. One that hangs is killed."""
        self._forget()
        try:
            self._process.wait(SUPERVISOR_START_MS / 1000)
        except subprocess.TimeoutExpired:
            self.kill()

    def _end(self) -> None:
        self._forget()
        self._ended(self._process.wait())

    def _forget(self) -> None:
        if self._handle is not None:
            self._loop.watch(self._handle)
            os.close(self._handle)
            self._handle = None


def _launched(home: Path, node: str, options: tuple[str, ...]) -> subprocess.Popen[bytes]:
    folder = Home(home).node(node)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    names = ("--home", str(home), "--node", node)
    with open(folder / "supervisor.log", "ab", opener=open_private) as log:
        return subprocess.Popen(
            [*program("muster.worker"), *names, *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
