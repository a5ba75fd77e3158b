"""Ways to print what workers printed: as it is, line by line with the rank in front, as JSON, or escaped."""

import codecs
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import BinaryIO

from muster.cli.terminal.screen import json_text
from muster.client.answers import Log
from muster.model.printable import printable

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

    def close(self) -> None:
        """Nothing is held back."""


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
        self._out.write(json_text(said).encode() + b"\n")
        self._out.flush()

    def close(self) -> None:
        """Nothing is held back."""


class Escaper:
    """Turns the bytes of one worker into text that a terminal does not obey, piece by piece.

    Programs use a carriage return to overwrite a line. Here it begins a new line instead.
    """

    def __init__(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        # Keeps the first half of a character or line end until the next piece brings the rest.
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)

    def __call__(self, data: bytes, *, is_last: bool = False) -> bytes:
        """What can be shown so far."""
        return printable(self._decoder.decode(data, is_last)).encode()


class EscapingPrinter:
    """Hands everything on to another printer, escaped for a terminal."""

    def __init__(self, printer: "RawPrinter | PrefixPrinter") -> None:
        self._printer = printer
        self._escapers: dict[int, tuple[Escaper, Log]] = {}

    def __call__(self, rank: int, piece: Log) -> None:
        """Print a piece."""
        escaper, _ = self._escapers.get(rank, (Escaper(), piece))
        self._escapers[rank] = (escaper, piece)
        self._printer(rank, replace(piece, text=escaper(piece.text)))

    def close(self) -> None:
        """Print what was held back while its second half might still come."""
        for rank, (escaper, piece) in self._escapers.items():
            self._printer(rank, replace(piece, text=escaper(b"", is_last=True)))
        self._printer.close()


LogPrinter = RawPrinter | PrefixPrinter | JsonPrinter | EscapingPrinter
"""The printers of `muster logs`."""
