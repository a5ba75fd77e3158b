"""Keeps the program at which a gang meets running: `rendezvous_keeper.py RECORD`, detached, one per attempt.

The program must outlive each node of the gang, and the control plane. So it belongs to neither, but to this process,
which starts it, starts it again when it dies, and ends with it when the record is removed, or when no supervisor of the
home is left. It is run as a file with the standard library alone.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

LOOK_S = 0.25
"""How often the keeper looks whether it is still needed."""

PAUSE_S = (0.5, 1.0, 2.0, 5.0)
"""Pauses before a program that died is started again; the last is used for all further ones. At first it may not be
installed yet, because `setup` does that on the nodes."""

STEADY_S = 30.0
"""A program that has run this long counts as sound: the next pause is the first again."""

ALONE_S = 15.0
"""After how long without any supervisor the keeper ends: nothing can be running that meets here."""

END_S = 2.0
"""How long the program may take to end when it is told to."""

SHELL = "/bin/sh"


class Keeper:
    """The keeper of one record."""

    def __init__(self, record: str) -> None:
        self._record = record
        with open(record) as file:
            self._said: dict[str, Any] = json.load(file)
        self._nodes = os.path.join(os.path.dirname(os.path.dirname(record)), "nodes")
        self._needed_s = time.monotonic()

    def run(self) -> None:
        """Keep the program running until it is not needed."""
        tries = 0
        while self._is_needed():
            started_s = time.monotonic()
            self._run_once()
            tries = 0 if time.monotonic() - started_s > STEADY_S else tries + 1
            again_s = time.monotonic() + PAUSE_S[min(max(tries - 1, 0), len(PAUSE_S) - 1)]
            while time.monotonic() < again_s and self._is_needed():
                time.sleep(LOOK_S)

    def _run_once(self) -> None:
        child = subprocess.Popen(
            [SHELL, "-c", self._said["line"]],
            cwd=self._said["folder"] if os.path.isdir(self._said["folder"]) else "/",
            env=self._said["variables"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        while child.poll() is None and self._is_needed():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LOOK_S)
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(END_S)

    def _is_needed(self) -> bool:
        if not os.path.exists(self._record):
            return False
        if self._has_supervisor():
            self._needed_s = time.monotonic()
        return time.monotonic() - self._needed_s < ALONE_S

    def _has_supervisor(self) -> bool:
        """True when a supervisor of the home may be alive. A pid that another process has by now does no harm."""
        with contextlib.suppress(OSError):
            for node in os.listdir(self._nodes):
                with contextlib.suppress(OSError, ValueError, KeyError):
                    with open(os.path.join(self._nodes, node, "supervisor.json")) as file:
                        os.kill(json.load(file)["pid"], 0)
                    return True
        return False


def main(arguments: list[str]) -> int:
    """Keep a record, unless another process does."""
    (record,) = arguments
    try:
        file = os.open(record, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 0
    Keeper(record).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
