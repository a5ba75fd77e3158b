"""`muster export`: what the cluster has seen, as a trace that `muster simulate` replays."""

import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import is_terminal, note, show_json
from muster.model.errors import InvalidInput

# ruff: noqa: PLC0415

Target = Annotated[str, typer.Argument(metavar="FILE", help="Where to write the trace; - is standard output.")]

listing = Listing(CLUSTER)


@listing.add
def export(file: Target = "-", output: Printed = Output.TABLE) -> None:
    """Write ended jobs as a trace: CSV, or with -o json a list of rows."""
    with connect() as client:
        pieces = client.export()
        if output is Output.JSON:
            import csv
            import io

            show_json(list(csv.DictReader(io.StringIO(b"".join(pieces).decode("utf-8")))))
        elif file == "-":
            _write_out(pieces)
        else:
            try:
                with Path(file).open("wb") as stream:
                    rows = sum(stream.write(piece) and piece.count(b"\n") for piece in pieces)
            except OSError as error:
                raise InvalidInput(f"{file}: cannot be written: {error.strerror}") from None
            note(f"{max(0, rows - 1)} jobs are in {file}; `muster simulate --trace {file}` replays them")


def _write_out(pieces: Iterable[bytes]) -> None:
    """Write the trace to standard output, byte for byte. On a terminal, control characters are escaped."""
    from muster.cli.following.log_printers import Escaper

    escaper = Escaper() if is_terminal() else None
    for piece in chain(pieces, (b"",)):
        shown = piece if escaper is None else escaper(piece, is_last=not piece)
        sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
