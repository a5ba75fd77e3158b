"""Reads what a worker printed by offsets, which stay valid while old output is dropped and new output comes."""

from itertools import zip_longest
from pathlib import Path

from muster.backends.base import OutputPart
from muster.model.ids import JobId
from muster.model.node_limits import LOG_READ_BYTES
from muster.worker.output.segments import COMPLETE, log_folder, segment_name, segments_in


def read_log(
    home: Path, job: JobId, attempt: int, rank: int, *, offset: int = 0, limit: int = LOG_READ_BYTES
) -> OutputPart:
    """At most `limit` bytes from `offset` on; a negative offset counts from the end of what there is."""
    folder = log_folder(home, job, attempt, rank)
    # Checked first: output that comes between this check and the reading is then read with the next call.
    is_ended = (folder / COMPLETE).exists()
    firsts = segments_in(folder)
    end = firsts[-1] + _size(folder, firsts[-1]) if firsts else 0
    wanted = max(end + offset, 0) if offset < 0 else offset
    start = max(wanted, firsts[0]) if firsts else 0
    data = _read(folder, firsts, start, min(max(limit, 0), LOG_READ_BYTES))
    start = min(start, end)
    return OutputPart(
        data=data,
        start=start,
        end=start + len(data),
        is_complete=is_ended and start + len(data) >= end,
    )


def _read(folder: Path, firsts: list[int], start: int, limit: int) -> bytes:
    """Bytes from as many files as it takes. A file that is dropped meanwhile ends the answer."""
    parts: list[bytes] = []
    at = start
    for first, following in zip_longest(firsts, firsts[1:]):
        if limit <= 0 or (following is not None and following <= at):
            continue
        try:
            with open(folder / segment_name(first), "rb") as file:
                file.seek(at - first)
                data = file.read(limit)
        except OSError:
            break
        parts.append(data)
        at, limit = at + len(data), limit - len(data)
        if following is not None and at != following:
            break
    return b"".join(parts)


def _size(folder: Path, first: int) -> int:
    try:
        return (folder / segment_name(first)).stat().st_size
    except OSError:
        return 0
