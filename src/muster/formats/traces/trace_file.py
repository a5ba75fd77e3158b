"""A trace file <-> `Trace`: CSV or the Standard Workload Format to read, CSV to write, each plain or packed."""

import csv
import gzip
import io
from pathlib import Path

from muster.formats.traces.lines import LineProblems, open_lines
from muster.formats.traces.trace_csv import csv_rows, read_csv
from muster.formats.traces.trace_swf import read_swf
from muster.model.errors import InvalidInput
from muster.model.trace import Trace

PACKED = ".gz"
SWF = ".swf"
CSV = ".csv"


def sample_trace() -> Path:
    """The trace that comes with Muster, with its cluster beside it."""
    return Path(__file__).with_name("sample.csv")


def read_trace(path: str | Path) -> Trace:
    """The trace in a file: SWF where the name ends in `.swf` or `.swf.gz`, else CSV.

    All mistakes are reported at once: the first ones in full, the others only as a count.
    """
    problems = LineProblems(str(path))
    skipped = 0
    unused: tuple[str, ...] = ()
    with open_lines(path, problems) as lines:
        if _unpacked_name(path).endswith(SWF):
            jobs, skipped = read_swf(lines, problems)
        else:
            jobs, unused = read_csv(lines, problems)
    problems.stop_if_any()
    return Trace(name=trace_name(path), jobs=jobs, skipped=skipped, unused=unused)


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace as CSV, packed if the name ends in `.gz`. The same trace always gives the same bytes.

    `read_trace` gives an equal trace back if the file has the name of the trace, except that `skipped` is 0, and that
    blanks at either end of a user, a name or a status are cut off.
    """
    try:
        with Path(path).open("wb") as raw, _text(raw, packed=str(path).endswith(PACKED)) as text:
            plain = csv.writer(text, lineterminator="\n")
            quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
            for row in csv_rows(trace):
                # Some versions of the writer do not quote a carriage return, but every reader needs the quotes.
                (quoted if "\r" in "".join(row) else plain).writerow(row)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror}") from None


def trace_name(path: str | Path) -> str:
    """What a trace is called: its file without folder and endings."""
    return _unpacked_name(path).removesuffix(CSV).removesuffix(SWF)


def _unpacked_name(path: str | Path) -> str:
    return Path(path).name.removesuffix(PACKED)


def _text(raw: io.BufferedWriter, *, packed: bool) -> io.TextIOWrapper:
    # Neither the name nor the time goes into a packed file, so that equal traces give equal files.
    stream = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if packed else raw
    return io.TextIOWrapper(stream, encoding="utf-8", newline="")
