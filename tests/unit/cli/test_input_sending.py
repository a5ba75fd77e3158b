import os
import sys
from pathlib import Path

import pytest

from muster.cli.following.input_sending import KeptInput, given_input


def a_pipe_with(data: bytes) -> int:
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading


def everything(kept: KeptInput) -> bytes:
    seen = b""
    while data := kept.read(4):
        seen += data
    return seen


def test_an_attempt_that_begins_anew_reads_from_the_beginning() -> None:
    kept = KeptInput(a_pipe_with(b"hello world"))
    assert (kept.read(4), kept.is_ready) == (b"hell", False)
    assert kept.rewind()
    assert kept.is_ready
    assert everything(kept) == b"hello world"
    assert kept.rewind()
    assert everything(kept) == b"hello world"


def test_of_what_is_too_long_to_be_kept_nothing_is_read_again() -> None:
    kept = KeptInput(a_pipe_with(b"hello world"), keep_bytes=8)
    assert everything(kept) == b"hello world"
    assert not kept.rewind()
    assert everything(kept) == b""


def test_what_is_given_is_a_pipe_or_a_file_and_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("hello")
    controller, terminal = os.openpty()
    with (
        open(tmp_path / "file") as file,
        open(a_pipe_with(b"")) as pipe,
        open(os.devnull) as nothing,
        open(terminal) as screen,
    ):
        for given, is_given in ((file, True), (pipe, True), (nothing, False), (screen, False)):
            monkeypatch.setattr(sys, "stdin", given)
            assert given_input() == (given.fileno() if is_given else None)
    os.close(controller)
    monkeypatch.setattr(sys, "stdin", None)
    assert given_input() is None
