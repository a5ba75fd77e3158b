"""One process that judges, asked with a limit of time. When it takes longer it is killed, and the next one is started.

A thread would not do: code that hangs in a library cannot be ended in this process, and a crash would end the server.
"""

import mmap
import os
import signal
import socket
import subprocess
import sys
import time

from muster.api.admission.messages import CONDITIONS, LENGTH_BYTES, PLUGIN
from muster.api.parsing.readers import INHERITED
from muster.model.client_limits import ADMISSION_ANSWER_BYTES, ADMISSION_START_MS


class JudgeBroken(Exception):
    """The process has ended by itself, or was killed because it took too long."""


class JudgeProcess:
    """A process, and what it was told."""

    def __init__(self, plugin: str = "") -> None:
        """Start it. Raises `JudgeBroken` when it does not begin."""
        self.rules: object = None
        """The rules that it was given last; only compared by identity."""
        self._noted = os.memfd_create("muster-admission")
        os.ftruncate(self._noted, LENGTH_BYTES)
        self._place = mmap.mmap(self._noted, LENGTH_BYTES)
        self._socket, other = socket.socketpair()
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        said = (PLUGIN, str(other.fileno()), plugin) if plugin else (CONDITIONS, str(other.fileno()), str(self._noted))
        with other:
            self._process = subprocess.Popen(
                (sys.executable, "-P", "-m", "muster.api.admission", *said),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=kept,
                pass_fds=(other.fileno(), self._noted),
                start_new_session=True,
            )
        try:
            self._receive(time.monotonic() + ADMISSION_START_MS / 1000)
        except JudgeBroken:
            self.end()
            raise

    @property
    def place(self) -> int:
        """The rule at which it was last."""
        return int.from_bytes(self._place[:], "big")

    def ask(self, frame: bytes, limit_ms: int) -> bytes:
        """Its answer. Raises `JudgeBroken` after ending it."""
        until_s = time.monotonic() + limit_ms / 1000
        self._place[:] = bytes(LENGTH_BYTES)
        try:
            self._wait(until_s)
            self._socket.sendall(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)
            return self._receive(until_s)
        except TimeoutError:
            self.end()
            raise JudgeBroken(f"it took longer than {limit_ms / 1000:g} s") from None
        except OSError as error:
            self.end()
            raise JudgeBroken(f"its process has ended: {error.strerror or error}") from None
        except JudgeBroken:
            self.end()
            raise

    def end(self) -> None:
        """Kill it, with whatever it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._socket.close()
        if not self._place.closed:
            place = self._place[:]
            self._place.close()
            os.close(self._noted)
            self._place = mmap.mmap(-1, LENGTH_BYTES)
            self._place[:] = place

    def _receive(self, until_s: float) -> bytes:
        length = int.from_bytes(self._read(LENGTH_BYTES, until_s), "big")
        if length > ADMISSION_ANSWER_BYTES:
            raise JudgeBroken("its answer is too long")
        return self._read(length, until_s)

    def _read(self, count: int, until_s: float) -> bytes:
        parts, left = [], count
        while left:
            self._wait(until_s)
            part = self._socket.recv(left)
            if not part:
                raise JudgeBroken("its process has ended by itself")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _wait(self, until_s: float) -> None:
        self._socket.settimeout(max(until_s - time.monotonic(), 0.001))
