"""`muster export`: what the cluster has seen, as a trace that `muster simulate` replays."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from muster.cli.connection import connect
from muster.cli.options import Output, Printed
from muster.cli.screen import note, show_json
from muster.model.errors import InvalidInput

# ruff: noqa: PLC0415

Target = Annotated[str, typer.Argument(metavar="FILE", help="Where to write the trace; - is standard output.")]


def export(file: Target = "-", output: Printed = Output.TABLE) -> None:
    """Write ended jobs as a trace: CSV, or with -o json a list of rows."""
    with connect() as client:
        pieces = client.export()
        if output is Output.JSON:
            import csv
            import io

            show_json(list(csv.DictReader(io.StringIO(b"".join(pieces).decode("utf-8")))))
        elif file == "-":
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        else:
            try:
                with Path(file).open("wb") as stream:
                    rows = sum(stream.write(piece) and piece.count(b"\n") for piece in pieces)
            except OSError as error:
                raise InvalidInput(f"{file}: cannot be written: {error.strerror}") from None
            note(f"{max(0, rows - 1)} jobs are in {file}; `muster simulate --trace {file}` replays them")
