"""Keeps given start estimates and their outcomes in a small file, so that a restarted server has not to learn anew.

Nothing else rests on it. If it is missing, damaged or of another layout, the server begins without a history.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from muster.estimates.starts import StartEstimate
from muster.model.ids import JobId
from muster.model.plan import EstimateBasis

ESTIMATES_FILE = "estimates.json"
"""Its name in the home of a server."""

LAYOUT = 1
"""Changes when the rows mean something else."""


class GivenEstimate(NamedTuple):
    """An estimate that a user was told, and when its job started."""

    job: JobId
    basis: EstimateBasis
    raw: StartEstimate
    """Before its correction."""
    told_p90_ms: int | None
    made_ms: int
    started_ms: int | None = None
    """None while the job waits."""


class EstimateFile:
    """The file. Without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._written: list[GivenEstimate] = []

    def read(self) -> list[GivenEstimate]:
        """What was kept, oldest first; empty when that cannot be read."""
        if self._path is None:
            return []
        with suppress(OSError, ValueError, TypeError, KeyError):
            document = json.loads(self._path.read_text("utf-8"))
            if document["layout"] == LAYOUT:
                return [_given(*row) for row in document["estimates"]]
        return []

    def write(self, given: list[GivenEstimate]) -> None:
        """Replace what was kept. A disk that is full or read-only costs the history, not the answer."""
        if self._path is None or given == self._written:
            return
        draft = self._path.with_suffix(".new")
        with suppress(OSError):
            draft.write_text(json.dumps({"layout": LAYOUT, "estimates": [_row(each) for each in given]}), "utf-8")
            draft.replace(self._path)
            self._written = given


def _row(given: GivenEstimate) -> list[str | int | None]:
    raw = given.raw
    times = (raw.p50_ms, raw.p90_ms, given.told_p90_ms, given.made_ms, given.started_ms)
    return [given.job, given.basis.value, *times]


def _given(
    job: str, basis: str, p50_ms: int | None, p90_ms: int | None, told_ms: int | None, made_ms: int, at_ms: int | None
) -> GivenEstimate:
    for each in (p50_ms, p90_ms, told_ms, at_ms):
        if each is not None and not isinstance(each, int):
            raise TypeError(f"{each!r} is not a time")
    raw = StartEstimate(p50_ms=p50_ms, p90_ms=p90_ms)
    return GivenEstimate(JobId(job), EstimateBasis(basis), raw, told_ms, int(made_ms), at_ms)
