"""`muster export`: what the cluster has seen, as a trace that `muster simulate` replays."""

import gzip
import shlex
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.drawing.wording import count
from muster.cli.terminal.connection import connect
from muster.cli.terminal.listing import CLUSTER, Listing
from muster.cli.terminal.options import Output, Printed
from muster.cli.terminal.screen import is_terminal, note, show_json
from muster.model.errors import InvalidInput

if TYPE_CHECKING:
    from muster.client.answers import Node

# ruff: noqa: PLC0415

Target = Annotated[str, typer.Argument(metavar="FILE", help="Where to write the trace; - is standard output.")]

listing = Listing(CLUSTER)


@listing.add
def export(file: Target = "-", output: Printed = Output.TABLE) -> None:
    """Write ended jobs as a trace: CSV, or with -o json a list of rows. The cluster is written beside the file."""
    with connect() as client:
        pieces = client.export()
        if output is Output.JSON:
            import csv
            import io

            show_json(list(csv.DictReader(io.StringIO(b"".join(pieces).decode("utf-8")))))
        elif file == "-":
            _write_out(pieces)
        else:
            rows = _write_file(Path(file), pieces)
            cluster = _write_cluster(Path(file), list(client.nodes()))
            jobs = max(0, rows - 1)
            note(f"{jobs} {'job is' if jobs == 1 else 'jobs are'} in {file}, and the cluster is in {cluster}")
            if jobs:
                note(f"to replay: muster simulate --trace {shlex.quote(file)} --policy muster,fifo")
    if pieces.left_out:
        note(f"{count(pieces.left_out, 'ended job')} without GPUs, or that never ran, left out")


def _write_file(path: Path, pieces: Iterable[bytes]) -> int:
    """Write the trace, and return how many lines it has. A name that ends in .gz asks for a packed file."""
    try:
        with gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb") as stream:
            return sum(stream.write(piece) and piece.count(b"\n") for piece in pieces)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror}") from None


def _write_cluster(trace: Path, nodes: Sequence["Node"]) -> Path:
    """Write the machines as they are now to where a replay of the trace looks for them, and return the file."""
    import json

    from muster.formats.traces.trace_file import trace_name

    levels = list(dict.fromkeys(level for node in nodes for level in node.domains))
    path = trace.with_name(f"{trace_name(trace)}.cluster.json")
    text = json.dumps({"levels": levels, "nodes": [_machine(node) for node in nodes]}, indent=1)
    try:
        path.write_text(f"{text}\n", "utf-8")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror}") from None
    return path


def _machine(node: "Node") -> dict[str, object]:
    """A node as a cluster file describes it, whole and in order: a replay makes its own faults."""
    known = {"gpu_type": node.gpu_type, "cpus": node.cpus, "memory": node.memory_bytes, "disk": node.disk_bytes}
    given = {key: value for key, value in known.items() if value}
    return {"name": node.name, "gpus": node.gpus, **given, "pool": node.pool, **node.domains}


def _write_out(pieces: Iterable[bytes]) -> None:
    """Write the trace to standard output, byte for byte. On a terminal, control characters are escaped."""
    from muster.cli.following.log_printers import Escaper

    escaper = Escaper() if is_terminal() else None
    for piece in chain(pieces, (b"",)):
        shown = piece if escaper is None else escaper(piece, is_last=not piece)
        sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
