"""Sends what this process reads to the first worker of a job that it follows, attempt after attempt.

An attempt that begins anew reads from the beginning. So the first bytes are kept, up to a limit. The worker of a job
whose input is longer than that reads nothing when it starts again, and its user is told.
"""

import os
import stat
import sys
import time
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from muster.cli.terminal.screen import note
from muster.model.errors import MusterError
from muster.model.job import JobState

if TYPE_CHECKING:
    from muster.client.client import Client

# ruff: noqa: PLC0415

KEPT_BYTES = 4 << 20


def given_input() -> int | None:
    """The file that this process reads from, if somebody may have put something there; None for a terminal too."""
    try:
        file = sys.stdin.fileno()
        found = os.fstat(file)
    except (OSError, ValueError, AttributeError):  # closed, or not a file at all
        return None
    is_nothing = stat.S_ISCHR(found.st_mode) and found.st_rdev == os.stat(os.devnull).st_rdev
    return None if is_nothing or os.isatty(file) else file


class KeptInput:
    """What a file holds, read piece by piece, and from the beginning again as far as it is kept."""

    def __init__(self, file: int, keep_bytes: int = KEPT_BYTES) -> None:
        self.file = file
        self._keep_bytes = keep_bytes
        self._kept = bytearray()
        self._place = 0
        self._is_whole = True
        self._is_over = False

    @property
    def is_ready(self) -> bool:
        """True when reading does not wait, whatever the file has."""
        return self._is_over or self._place < len(self._kept)

    def read(self, size: int) -> bytes:
        """The next bytes; empty at the end."""
        if self._place < len(self._kept):
            data = bytes(self._kept[self._place : self._place + size])
            self._place += len(data)
            return data
        data = b"" if self._is_over else os.read(self.file, size)
        self._is_over = self._is_over or not data
        if self._is_whole and len(self._kept) + len(data) <= self._keep_bytes:
            self._kept += data
            self._place = len(self._kept)
        elif data:
            self._is_whole = False
        return data

    def rewind(self) -> bool:
        """Begin again; False when the beginning is not there any more, and then nothing more is read."""
        if not self._is_whole:
            self._kept.clear()
            self._is_over = True
        self._place = 0
        return self._is_whole


class InputSender:
    """Sends on a thread of its own, which ends with the process."""

    def __init__(self, client: "Client", job_id: str, file: int) -> None:
        self._client = client
        self._job = job_id
        self._input = KeptInput(file)
        self._attempts: SimpleQueue[int] = SimpleQueue()
        Thread(target=self._send_to_each, daemon=True).start()

    def began(self, attempt: int) -> None:
        """The job has begun an attempt: what was sent to an earlier one is sent again."""
        self._attempts.put(attempt)

    def _send_to_each(self) -> None:
        while True:
            attempt = self._attempts.get()
            try:
                if self._waits_until_running(attempt):
                    self._send(attempt)
            except MusterError as error:
                note(f"standard input is not passed on to {self._job}: {error}")

    def _waits_until_running(self, attempt: int) -> bool:
        """True once the attempt runs; False when it is over."""
        from muster.client.pauses import pauses_s

        pauses = pauses_s()
        while (job := self._client.job(self._job)).attempt == attempt and not job.is_final:
            if job.state == JobState.RUNNING:
                return True
            time.sleep(next(pauses))
        return False

    def _send(self, attempt: int) -> None:
        from muster.cli.terminal.raw_terminal import send_input

        if not self._input.rewind():
            note(f"attempt {attempt} of {self._job} reads nothing: of what it was sent, not everything is kept here")
        if send_input(self._client, self._job, self._input) == {}:
            note(f"the connection broke off; what {self._job} reads has ended")
