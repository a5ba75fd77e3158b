"""The processes that read long job files, with limits on their number, their time and the files of each caller.

Reading YAML holds Python's global lock, so a thread would delay every other request of this server. A process does not,
and a process that takes too long can be killed.
"""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from muster.api.parsing.frames import decoded, receive, send
from muster.api.parsing.submission import NO_PROFILES, Profiles, ReadSubmission
from muster.api.problems.documents import problem
from muster.api.schemas.problems import Problem
from muster.api.streams.stream_limit import StreamLimit
from muster.model.client_limits import (
    JOB_READ_S,
    JOB_READER_FILES,
    JOB_READERS_MAX,
    JOB_READS_PER_CALLER,
    JOB_READS_WAITING,
)
from muster.model.errors import Unavailable

_log = logging.getLogger("muster.api")

Started = Callable[[], "subprocess.Popen[bytes]"]
INHERITED = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL")
"""The environment variables that a reader gets: none of them holds a secret."""


@dataclass(slots=True)
class _Reader:
    """One process, and how many files it has read."""

    process: "subprocess.Popen[bytes]"
    files: int = 0


class Readers:
    """Passes long job files to processes. They are started when there is something to read, and end with the server."""

    def __init__(self, *, started: Started | None = None, read_s: float = JOB_READ_S) -> None:
        count = max(1, min(JOB_READERS_MAX, (os.cpu_count() or 1) // 2))
        self._started = started or _start
        self._read_s = read_s
        self._places = StreamLimit(JOB_READS_WAITING, "long job files", each=JOB_READS_PER_CALLER)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="job-reader")
        """One thread for each process, which waits for its answer."""
        self._idle: SimpleQueue[_Reader] = SimpleQueue()
        self._is_closed = False

    async def read(self, subject: str, body: bytes, profiles: Profiles = NO_PROFILES) -> ReadSubmission | Problem:
        """Read a body, whose job may name one of these profiles.

        Raises when too many files of the caller, or of all callers, are being read or wait.
        """
        self._places.enter(subject)
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._asked, body, profiles)
        finally:
            self._places.leave(subject)

    def close(self) -> None:
        """End all processes."""
        self._is_closed = True
        while (reader := self._rested()) is not None:
            _end(reader)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _asked(self, body: bytes, profiles: Profiles = NO_PROFILES) -> ReadSubmission | Problem:
        """Have a process read a body. If the process fails, return a problem or raise `Unavailable`."""
        reader = self._rested() or _Reader(self._started())
        is_late = threading.Event()

        def give_up() -> None:
            is_late.set()
            reader.process.kill()

        watch = threading.Timer(self._read_s, give_up)
        watch.daemon = True
        watch.start()
        try:
            answer = _exchanged(reader, body, profiles)
        finally:
            watch.cancel()
        if answer is None:
            _end(reader)
            return _explained(is_late=is_late.is_set() or reader.process.returncode == -signal.SIGVTALRM)
        self._rest(reader)
        return decoded(answer)

    def _rested(self) -> _Reader | None:
        try:
            return self._idle.get_nowait()
        except Empty:
            return None

    def _rest(self, reader: _Reader) -> None:
        reader.files += 1
        if reader.files >= JOB_READER_FILES or self._is_closed:
            _end(reader)
        else:
            self._idle.put(reader)


def _explained(*, is_late: bool) -> Problem:
    if not is_late:
        _log.warning("a process that reads job files has ended by itself")
        raise Unavailable("the job file could not be read just now; try again")
    return problem(422, "invalid", "reading the job file takes too long; no job needs so many entries")


def _start() -> "subprocess.Popen[bytes]":
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return subprocess.Popen(
        (sys.executable, "-P", "-m", "muster.api.parsing"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=kept,
        start_new_session=True,
    )


def _exchanged(reader: _Reader, body: bytes, profiles: Profiles) -> bytes | None:
    asked, answered = reader.process.stdin, reader.process.stdout
    assert asked is not None
    assert answered is not None
    try:
        send(asked, json.dumps(profiles).encode())
        send(asked, body)
        return receive(answered)
    except (OSError, ValueError):
        return None


def _end(reader: _Reader) -> None:
    reader.process.kill()
    reader.process.wait()
    for stream in (reader.process.stdin, reader.process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # Closing flushes bytes that the process never read.
                continue
