"""What a program says of its checkpoints is understood, and what it does not mean is passed over."""

import os
from pathlib import Path

import pytest

from muster.worker.notices import NoticeReader, Saved, SignalTarget, parse


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"saved", Saved()),
        (b" saved  250 ", Saved(250)),
        (b"listening SIGUSR1 77", SignalTarget(77)),
        (b"listening SIGUSR1", None),
        (b"listening SIGKILL 1", None),
        (b"saved soon", None),
        (b"saved -1", None),
        (b"saved 999999999999999", None),
        (b"", None),
        (b"\xff\xfe", None),
    ],
)
def test_a_line_is_understood_or_means_nothing(line: bytes, expected: Saved | SignalTarget | None) -> None:
    assert parse(line) == expected


def test_lines_come_in_pieces(tmp_path: Path) -> None:
    pipe = tmp_path / "notice"
    os.mkfifo(pipe)
    reader = NoticeReader(pipe)
    try:
        assert list(reader.read()) == []
        os.write(reader.file, b"saved 1\nsav")
        assert list(reader.read()) == [Saved(1)]
        os.write(reader.file, b"ed 2\nnonsense\nsaved\n")
        assert list(reader.read()) == [Saved(2), Saved()]
    finally:
        os.close(reader.file)
