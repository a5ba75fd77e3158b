"""Ways to print what workers printed: as it is, line by line with the rank in front, or as JSON."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO

from muster.client.answers import Log

Printer = Callable[[int, Log], None]
"""Takes a rank and a piece of its output."""


class RawPrinter:
    """Prints bytes as they come."""

    def __init__(self, out: BinaryIO | None = None) -> None:
        self._out = out or sys.stdout.buffer

    def __call__(self, _: int, piece: Log) -> None:
        """Print a piece."""
        self._out.write(piece.text)
        self._out.flush()


class PrefixPrinter:
    """Prints whole lines, each with its rank, so that the output of several workers can be told apart."""

    def __init__(self, ranks: Sequence[int], out: BinaryIO | None = None) -> None:
        self._out = out or sys.stdout.buffer
        self._width = len(str(max(ranks)))
        self._rest: dict[int, bytes] = {}

    def __call__(self, rank: int, piece: Log) -> None:
        """Print the lines that are complete."""
        *lines, rest = (self._rest.get(rank, b"") + piece.text).split(b"\n")
        self._rest[rank] = rest
        for line in lines:
            self._print(rank, line)

    def close(self) -> None:
        """Print what came without a line break at its end."""
        for rank, rest in sorted(self._rest.items()):
            if rest:
                self._print(rank, rest)
        self._rest.clear()

    def _print(self, rank: int, line: bytes) -> None:
        self._out.write(f"{rank:>{self._width}}| ".encode() + line + b"\n")
        self._out.flush()


class JsonPrinter:
    """Prints one JSON object for each piece, one to a line."""

    def __init__(self, job: str, out: BinaryIO | None = None) -> None:
        self._job = job
        self._out = out or sys.stdout.buffer

    def __call__(self, rank: int, piece: Log) -> None:
        """Print a piece."""
        said = {
            "job": self._job,
            "rank": rank,
            "attempt": piece.attempt,
            "start": piece.start,
            "end": piece.end,
            "text": piece.text.decode("utf-8", errors="replace"),
        }
        self._out.write(json.dumps(said, ensure_ascii=False).encode() + b"\n")
        self._out.flush()
