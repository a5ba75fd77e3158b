"""Traces as CSV: one line of column names, then one line per job.

Columns may stand in any order. Unknown columns are ignored. An empty cell means that the source does not say.
What each column means is in docs/TRACES.md.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from muster.formats.parts.kinds import text
from muster.formats.text.units import BadValue
from muster.formats.traces import cells
from muster.formats.traces.columns import probably_meant
from muster.formats.traces.lines import LineProblems, Lines, TraceJobs
from muster.model.ids import GpuType
from muster.model.trace import Trace, TraceJob

Read = Callable[[str], object]

REQUIRED = ("job_id", "submit_s", "duration_s", "gpus")
"""Columns that a trace must have."""
MAY_BE_EMPTY = ("gpus",)
"""The required columns whose cells may be empty: real traces have rows for jobs that asked for no GPUs."""
COLUMNS: dict[str, tuple[str, Read]] = {
    "job_id": ("id", cells.job_id),
    "submit_s": ("submit_ms", cells.submit_ms),
    "duration_s": ("run_ms", cells.run_ms),
    "gpus": ("gpu_milli", cells.gpu_milli),
    "team": ("team", cells.team),
    "user": ("user", text),
    "name": ("name", text),
    "class": ("tier", cells.tier_of_class),
    # After the class, because a given tier overrides the tier of the class.
    "tier": ("tier", cells.tier),
    "priority": ("priority", cells.priority),
    "gpu_type": ("gpu_types", cells.gpu_types),
    "cpus": ("cpu_milli", cells.cpu_milli),
    "mem_gb": ("memory_bytes", cells.memory_bytes),
    "max_duration_s": ("max_duration_ms", cells.limit_ms),
    "status": ("status", text),
}
"""Each known column with the field of `TraceJob` that it fills."""

COLUMNS_SHOWN = 20

_TYPE_COLUMN = re.compile(r"dur_(.+)_s")
"""`dur_p100_s`: how long the job runs on a P100."""


def read_csv(lines: Lines, problems: LineProblems) -> tuple[tuple[TraceJob, ...], tuple[str, ...]]:
    """All jobs in the order of their submission, and the columns that are not used. What is wrong is noted."""
    table = csv.reader(lines, strict=True)
    jobs = TraceJobs(problems)
    try:
        header = next((row for row in table if row), None)
        if header is None:
            problems.refuse("the file is empty")
        _refuse_other_files(header, lines, problems)
        rows = _Rows(header, table.line_num, problems)
        problems.stop_if_any()
        for row in table:
            job = rows.job(row, table.line_num) if row else None
            if job is not None:
                jobs.add(job, table.line_num, "job_id")
    except csv.Error as error:
        problems.refuse(f"not CSV: {error}", "is a quote missing?", line=table.line_num)
    return jobs.by_submission(), rows.unused


def csv_rows(trace: Trace) -> Iterator[list[str]]:
    """The trace as rows of cells, column names first. `read_csv` gives the same jobs back."""
    kinds = sorted({kind for job in trace.jobs for kind, _ in job.run_ms_by_type})
    yield [*(column for column in COLUMNS if column != "class"), *(f"dur_{kind}_s" for kind in kinds)]
    for job in trace.jobs:
        by_type = dict(job.run_ms_by_type)
        yield [*_cells(job), *(cells.milli_text(by_type[kind]) if kind in by_type else "" for kind in kinds)]


class _Rows:
    """Turns rows into jobs, by the column names of one file."""

    def __init__(self, header: Sequence[str], line: int, problems: LineProblems) -> None:
        self._problems = problems
        self._width = len(header)
        place_of: dict[str, int] = {}
        for place, column in enumerate(each.strip() for each in header):
            if column in place_of and (column in COLUMNS or _TYPE_COLUMN.fullmatch(column)):
                problems.add(line, column, "the column is there twice", "keep one")
            place_of.setdefault(column, place)
        for column in REQUIRED:
            if column not in place_of:
                problems.add(line, column, "there is no such column", _what_instead(header, column))
        self.unused = tuple(each for each in place_of if each and not _is_known(each))
        """Columns that mean nothing here, in the order of the file."""
        self._columns = [
            (column, place_of[column], field, read)
            for column, (field, read) in COLUMNS.items()
            if column in place_of
        ]  # fmt: skip
        self._kinds = sorted(
            (GpuType(match[1]), place, column)
            for column, place in place_of.items()
            if (match := _TYPE_COLUMN.fullmatch(column))
        )

    def job(self, row: Sequence[str], line: int) -> TraceJob | None:
        """The job in a row, or None after noting what is wrong with it."""
        problems = self._problems
        if len(row) != self._width:
            problems.add(
                line, "", f"has {len(row)} cells, and there are {self._width} columns", "quote cells with commas"
            )
            return None
        before = problems.count
        values: dict[str, Any] = {}
        for column, place, field, read in self._columns:
            cell = row[place].strip()
            value = self._value(cell, read, line, column) if cell else None
            if value is not None:
                values[field] = value
            elif not cell and column in REQUIRED and column not in MAY_BE_EMPTY:
                problems.add(line, column, "is required and was not given", "leave the job out if nobody knows")
        if self._kinds:
            values["run_ms_by_type"] = self._run_ms_by_type(row, line)
        values.setdefault("gpu_milli", 0)
        return None if problems.count > before else TraceJob(**values)

    def _value(self, cell: str, read: Read, line: int, column: str) -> object:
        try:
            return read(cell)
        except BadValue as error:
            self._problems.add(line, column, error.problem, error.hint)
            return None

    def _run_ms_by_type(self, row: Sequence[str], line: int) -> tuple[tuple[GpuType, object], ...]:
        given = ((kind, row[place].strip(), column) for kind, place, column in self._kinds)
        return tuple((kind, self._value(cell, cells.run_ms, line, column)) for kind, cell, column in given if cell)


def _refuse_other_files(header: Sequence[str], lines: Lines, problems: LineProblems) -> None:
    """Refuse a file that is named .gz, is not packed, and has none of the required columns: it is no trace."""
    if not lines.is_packed and problems.file.endswith(".gz") and not {each.strip() for each in header} & set(REQUIRED):
        problem = "its name ends in .gz, and it is neither packed with gzip nor a trace as plain text"
        problems.refuse(problem, "is it the file you mean, and was it copied as a whole?")


def _is_known(column: str) -> bool:
    return column in COLUMNS or _TYPE_COLUMN.fullmatch(column) is not None


def _what_instead(header: Sequence[str], missing: str) -> str:
    if header[0].startswith(";"):
        return "a file in the Standard Workload Format must be named .swf or .swf.gz"
    others = [each.strip() for each in header if not _is_known(each.strip())]
    meant = next((each for each in others if probably_meant(each, [missing])), None)
    if meant is not None:
        return f"rename {meant!r} to {missing}, if that is what it is{_unit_text(missing)}"
    return f"the columns are {', '.join(header[:COLUMNS_SHOWN])}"


def _unit_text(column: str) -> str:
    return ", in seconds" if column.endswith("_s") else ""


def _cells(job: TraceJob) -> tuple[str, ...]:
    """The cells of a job in the order of `COLUMNS`, without its class, because its tier is written."""
    return (
        job.id,
        cells.milli_text(job.submit_ms),
        cells.milli_text(job.run_ms),
        cells.milli_text(job.gpu_milli),
        job.team,
        job.user,
        job.name,
        job.tier,
        str(job.priority),
        cells.gpu_types_text(job.gpu_types),
        cells.milli_text(job.cpu_milli) if job.cpu_milli else "",
        cells.memory_text(job.memory_bytes) if job.memory_bytes else "",
        "" if job.max_duration_ms is None else cells.milli_text(job.max_duration_ms),
        job.status,
    )
