"""Small traces, written to files."""

import gzip
from pathlib import Path

import pytest

from muster.formats.text.document import InvalidDocument
from muster.formats.traces.trace_file import read_trace
from muster.model.trace import Trace, TraceJob

HEADER = "job_id,submit_s,duration_s,gpus"


def trace_of(folder: Path, *lines: str, name: str = "t.csv") -> Trace:
    """The trace in a file of these lines, packed if its name says so."""
    return read_trace(written(folder, *lines, name=name))


def written(folder: Path, *lines: str, name: str = "t.csv") -> Path:
    """A file of these lines."""
    path = folder / name
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def only_job(folder: Path, *lines: str, name: str = "t.csv") -> TraceJob:
    """The one job in a file of these lines."""
    (job,) = trace_of(folder, *lines, name=name).jobs
    return job


def refusal(folder: Path, *lines: str, name: str = "t.csv") -> list[str]:
    """What is said about a file of these lines, one entry per problem, without the folder."""
    with pytest.raises(InvalidDocument) as raised:
        trace_of(folder, *lines, name=name)
    return [line.removeprefix(f"{folder}/") for line in str(raised.value).splitlines()]
