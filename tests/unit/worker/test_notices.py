"""What a program says of its training is understood, and what it does not mean is passed over."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.worker.notices import (
    LINE_BYTES,
    BoardMade,
    Damaged,
    Measures,
    Notice,
    NoticeReader,
    Saved,
    ShardWritten,
    SignalTarget,
    StackTarget,
    Uploaded,
    parse,
)

SHARD = b'shard {"step": 1200, "rank": 3, "world": 4, "bytes": 77, "cost_ms": 12, "took_ms": 34}'


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[NoticeReader]:
    os.mkfifo(tmp_path / "notice")
    reader = NoticeReader(tmp_path / "notice")
    yield reader
    os.close(reader.file)


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
        (b"board 3", BoardMade(3)),
        (b"board -3", None),
        (b"board ../3", None),
        (b"board 9999999", None),
        (b"stacks 2 4711 SIGUSR2", StackTarget(2, 4711)),
        (b"stacks 2 4711 SIGKILL", None),
        (b"stacks 9999999 4711 SIGUSR2", None),
        (SHARD, ShardWritten(step=1200, rank=3, world=4, bytes=77, cost_ms=12, took_ms=34)),
        (b'shard {"step": 1, "rank": 0, "world": 1}', ShardWritten(step=1, rank=0, world=1)),
        (b'shard {"step": 1, "rank": 4, "world": 4}', None),
        (b'shard {"step": 1, "rank": 0, "world": 99999999}', None),
        (b'shard {"step": -1, "rank": 0, "world": 4}', None),
        (b'shard {"step": true, "rank": 0, "world": 4}', None),
        (b'shard {"step": 1.5, "rank": 0, "world": 4}', None),
        (b'shard {"step": 1, "rank": 0, "world": 4, "bytes": "many"}', None),
        (b"shard [1]", None),
        (b"shard {", None),
        (b"shard", None),
        (b'uploaded {"step": 7}', Uploaded(step=7)),
        (b'uploaded {"step": 7, "problem": "no\\u001b room"}', Uploaded(step=7, problem="no  room")),
        (b'uploaded {"step": 7, "problem": 1}', None),
        (b'damaged {"step": 7, "rank": 1, "problem": "rotten"}', Damaged(step=7, rank=1, problem="rotten")),
        (b'damaged {"step": 7, "rank": 1}', None),
        (b'metrics {"step": 7, "loss": 0.5}', Measures({"step": 7, "loss": 0.5})),
        (b'metrics {"step": 7, "loss": NaN, "x": "y"}', Measures({"step": 7, "loss": None, "x": None})),
        (b'metrics {"step": 7, "loss": 1e999}', Measures({"step": 7, "loss": None})),
        (b'metrics {"loss": 0.5}', None),
        (b'metrics {"step": 7, "' + b"n" * 65 + b'": 1}', None),
        (b"metrics " + b"[" * 4000, None),
        (b"unheard of {}", None),
    ],
)
def test_a_line_is_understood_or_means_nothing(line: bytes, expected: Notice | None) -> None:
    assert parse(line) == expected


def test_a_problem_is_cut() -> None:
    found = parse(b'uploaded {"step": 7, "problem": "' + b"x" * 3000 + b'"}')
    assert isinstance(found, Uploaded)
    assert len(found.problem) == 1000


@given(st.binary(max_size=200) | st.sampled_from([b"shard ", b"metrics ", b"damaged "]).flatmap(
    lambda kind: st.binary(max_size=100).map(lambda rest: kind + rest)
))  # fmt: skip
def test_no_line_does_any_harm(line: bytes) -> None:
    parse(line)


def test_lines_come_in_pieces(reader: NoticeReader) -> None:
    assert list(reader.read()) == []
    os.write(reader.file, b"saved 1\nsav")
    assert list(reader.read()) == [Saved(1)]
    os.write(reader.file, b"ed 2\nnonsense\nsaved\n")
    assert list(reader.read()) == [Saved(2), Saved()]


def test_the_end_of_a_line_that_is_too_long_is_no_notice(reader: NoticeReader) -> None:
    os.write(reader.file, b"x" * LINE_BYTES)
    os.write(reader.file, b"x" * 10)
    assert list(reader.read()) == []
    os.write(reader.file, b"saved 1\nsaved 2\n")
    assert list(reader.read()) == [Saved(2)]
