"""Says in the output of workers that the end of it is missing, where its readers look."""

import logging
import os
from contextlib import suppress
from pathlib import Path

from muster.backends.allocations.allocation import EngineAllocation
from muster.model.ids import NodeName
from muster.worker.output.segments import COMPLETE, log_folder, segment_name, segments_in

_log = logging.getLogger("muster.allocations")


def say_lost(home: Path, allocation: EngineAllocation, node: NodeName, behind: int | None) -> None:
    """The allocation is over on a node, and its agent has not said that everything has come.

    `behind` is how many bytes it said are missing. Workers whose output is whole have a mark that it is.
    """
    known = f"up to {behind} bytes of it" if behind else "the end of it"
    words = f"{known} did not come from {node} before the allocation was over there"
    for worker in allocation.on(node):
        folder = log_folder(home, allocation.job, allocation.attempt, worker.rank)
        if not (folder / COMPLETE).exists():
            told = {"job": allocation.job, "node": node, "rank": worker.rank, "cause": words}
            _log.warning("output is missing", extra=told)
            with suppress(OSError):
                _append(folder, f"\n[muster] this output is not whole: {words}\n")


def _append(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    segment = folder / segment_name(max(segments_in(folder), default=0))
    file = os.open(segment, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(file, "ab") as output:
        output.write(text.encode())
    (folder / COMPLETE).touch(mode=0o600)
