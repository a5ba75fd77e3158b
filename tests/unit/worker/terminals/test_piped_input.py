import os

import pytest

from muster.worker.loop import Loop
from muster.worker.terminals.piped_input import PipedInput
from muster.worker.terminals.worker_input import WorkerInput


class Pipe:
    """A pipe with what it told its owner."""

    def __init__(self) -> None:
        self.loop = Loop(settle=lambda: None)
        self.held: list[bool] = []
        self.ends: list[bool] = []
        self.input = PipedInput(self.loop, hold=self.held.append, ended=self.ends.append)


def test_what_comes_is_read_to_its_end() -> None:
    pipe = Pipe()
    pipe.input.type(b"hello")
    pipe.input.end()
    assert os.read(pipe.input.reading, 99) == b"hello"
    assert os.read(pipe.input.reading, 99) == b""
    assert (pipe.held[-1], pipe.ends, pipe.input.is_open) == (False, [True], False)


def test_more_than_the_pipe_holds_is_kept_until_it_is_read_and_no_more_comes_meanwhile() -> None:
    pipe = Pipe()
    sent = bytes(range(256)) * 2000
    pipe.input.type(sent)
    pipe.input.end()
    assert (pipe.held, pipe.ends) == ([True, True], [])
    seen = bytearray()

    def read() -> None:
        seen.extend(os.read(pipe.input.reading, 99_999))
        if len(seen) == len(sent):
            pipe.loop.stop()

    pipe.loop.watch(pipe.input.reading, readable=read)
    pipe.loop.run()
    assert (bytes(seen), pipe.held[-1], pipe.ends) == (sent, False, [True])


def test_a_process_that_reads_no_more_is_said() -> None:
    pipe = Pipe()
    os.close(pipe.input.reading)
    pipe.input.type(b"hello")
    assert (pipe.held[-1], pipe.ends, pipe.input.is_open) == (False, [False], False)
    pipe.input.type(b"more")  # is dropped
    pipe.input.end()


def test_a_worker_that_is_sent_nothing_for_too_long_reads_nothing_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.worker.terminals.worker_input.WAIT_MS", 0)
    loop = Loop(settle=lambda: None)
    noted: list[bytes] = []
    worker_input = WorkerInput(loop, noted.append)
    loop.watch(worker_input.reading, readable=loop.stop)  # ready at its end
    loop.run()
    assert os.read(worker_input.reading, 9) == b""
    assert b"nobody has sent what it reads" in noted[0]
