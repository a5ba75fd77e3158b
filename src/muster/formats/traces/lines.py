"""The lines of a trace file, plain or packed with gzip, and all that is wrong with them -> one error.

A trace may be far larger than other files, so it is read a line at a time and never held as a whole.
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from muster.formats.text.document import ERRORS_SHOWN, InvalidDocument
from muster.formats.text.units import shown
from muster.model.errors import InvalidFile
from muster.model.ids import JobId
from muster.model.limits import JOBS_PER_TRACE
from muster.model.trace import TraceJob

LINE_CHARS = 1 << 20
"""No job needs more. A file without line ends must not fill the memory."""

_GZIP_MAGIC = b"\x1f\x8b"


class LineProblems:
    """What is wrong with a file of lines, collected while reading on."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[InvalidFile] = []
        self._more = 0

    @property
    def count(self) -> int:
        """How many problems were noted, also those that will not be shown."""
        return len(self._found) + self._more

    def add(self, line: int, column: str, problem: str, hint: str = "") -> None:
        """Note one thing that is wrong in a column of a line."""
        if len(self._found) < ERRORS_SHOWN:
            self._found.append(InvalidFile(file=self.file, line=line, path=column, problem=problem, hint=hint))
        else:
            self._more += 1

    def stop_if_any(self) -> None:
        """Raise all that was noted."""
        if self._found:
            raise InvalidDocument(tuple(self._found), more=self._more)

    def refuse(self, problem: str, hint: str = "", *, line: int | None = None) -> NoReturn:
        """Refuse the whole file, with the problems that were noted before."""
        last = InvalidFile(file=self.file, line=line, path="", problem=problem, hint=hint)
        raise InvalidDocument((*self._found, last), more=self._more)


class Lines:
    """The lines of a text, one at a time, each with its line end. `number` is the number of the last line."""

    def __init__(self, stream: io.TextIOWrapper, problems: LineProblems, *, is_packed: bool) -> None:
        self.is_packed = is_packed
        self._stream = stream
        self._problems = problems
        self.number = 0

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = self._stream.readline(LINE_CHARS)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) == LINE_CHARS:
            self._problems.refuse("the line is too long", "is this a trace?", line=self.number)
        return line


class TraceJobs:
    """Jobs in the order of their lines: not too many, and no id twice."""

    def __init__(self, problems: LineProblems) -> None:
        self._problems = problems
        self._jobs: list[TraceJob] = []
        self._line_by_id: dict[JobId, int] = {}

    def add(self, job: TraceJob, line: int, column: str) -> None:
        """Add a job, or note why not. `column` is where its id stands."""
        first = self._line_by_id.setdefault(job.id, line)
        if first != line:
            self._problems.add(line, column, f"the id {shown(job.id)} is also in line {first}", "give each job its own")
            return
        if len(self._jobs) == JOBS_PER_TRACE:
            self._problems.refuse("too many jobs", f"at most {JOBS_PER_TRACE} in a trace: cut it in pieces", line=line)
        self._jobs.append(job)

    def by_submission(self) -> tuple[TraceJob, ...]:
        """The jobs in the order of submission. Jobs of one instant stay in the order of the file."""
        return tuple(sorted(self._jobs, key=lambda job: job.submit_ms))


@contextmanager
def open_lines(path: str | Path, problems: LineProblems) -> Iterator[Lines]:
    """The lines of a file. A file that cannot be read, now or further down, is refused."""
    number = 0
    try:
        with Path(path).open("rb") as raw, _text(raw) as text:
            lines = Lines(text, problems, is_packed=isinstance(text.buffer, gzip.GzipFile))
            try:
                yield lines
            finally:
                number = lines.number
    except FileNotFoundError:
        problems.refuse("there is no such file", "is the name right, and the folder you are in?")
    except IsADirectoryError:
        problems.refuse("this is a folder", "name a file in it")
    except UnicodeDecodeError:
        problems.refuse("not UTF-8 text from about here on", "save it as UTF-8", line=number + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        problems.refuse(f"cannot be unpacked: {error}", "was it copied as a whole?")
    except OSError as error:
        problems.refuse(f"cannot be read: {error.strerror}")


def _text(raw: io.BufferedReader) -> io.TextIOWrapper:
    """The text of a file. Whether it is packed is seen from its first bytes, not from its name."""
    packed = raw.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
    return io.TextIOWrapper(gzip.GzipFile(fileobj=raw) if packed else raw, encoding="utf-8-sig", newline="")
