"""What the end of a worker leaves in its pipe is taken, and no more."""

import fcntl
import os

import pytest

from muster.worker.output.masking import Mask
from muster.worker.worker_process import WorkerProcess


class _Log:
    """Counts instead of writing."""

    size_bytes = 0

    def write(self, data: bytes) -> None:
        self.size_bytes += len(data)


def test_a_process_that_fills_the_pipe_of_an_ended_worker_without_end_keeps_nothing_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        held = fcntl.fcntl(reading, fcntl.F_GETPIPE_SZ)
        os.write(writing, b"the last words\n")
        process, log, read, reads = WorkerProcess.__new__(WorkerProcess), _Log(), os.read, []
        process._output, process._mask, process._segments, process._terminal = reading, Mask(()), log, None  # type: ignore[assignment]

        def refilled(file: int, size: int) -> bytes:
            reads.append(size)
            assert len(reads) < 100, "it goes on for ever"
            os.write(writing, b"x" * 4096)
            return read(file, size)

        monkeypatch.setattr(os, "read", refilled)
        process._drain()
        assert 15 < log.size_bytes <= held
    finally:
        os.close(reading)
        os.close(writing)
