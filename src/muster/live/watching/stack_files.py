"""The stacks of all ranks of a job that stood still, kept beside what its workers printed.

They are captured before anything is done about a hang, because afterwards the processes are gone.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from muster.model.ids import JobId
from muster.private_files import write_private
from muster.worker.output.segments import attempt_folder

STACKS_S = 10.0
"""How long capturing the stacks of all ranks of a job may take. A process that does not answer by then has none."""

STACK_CHARS = 64 * 1024
"""Of the stack of one rank: a hundred threads."""

FILE_BYTES = 8 * 1024 * 1024
"""Of the stacks of all ranks of a job: a thousand ranks with a few threads each."""

NAME = "stacks.txt"
_HEADING = re.compile(r"^==== rank (\d{1,9}) ====\n", re.MULTILINE)


class StackFiles:
    """The files with stacks, one for each attempt that stood still; the newest stacks of the attempt."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def keep(self, job: JobId, attempt: int, stacks: Mapping[int, str]) -> str:
        """Write the stacks; returns the name of the file. Raises `OSError` when they cannot be written."""
        folder = self._folder(job, attempt)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_private(folder / NAME, stacks_text(stacks))
        return NAME

    def read(self, job: JobId, attempt: int) -> dict[int, str]:
        """The stacks that were kept of an attempt; empty when none were."""
        try:
            with open(self._folder(job, attempt) / NAME, encoding="utf-8", errors="replace") as file:
                return stacks_in(file.read(FILE_BYTES))
        except FileNotFoundError:
            return {}

    def _folder(self, job: JobId, attempt: int) -> Path:
        return attempt_folder(self._home, job, attempt)


def stacks_text(stacks: Mapping[int, str]) -> str:
    """The stacks of all ranks as one text, by rank, as far as it may be long."""
    parts: list[str] = []
    left = FILE_BYTES
    for rank, stack in sorted(stacks.items()):
        part = f"==== rank {rank} ====\n{stack[:STACK_CHARS].rstrip()}\n\n"
        left -= len(part.encode("utf-8", "replace"))
        if left < 0:
            break
        parts.append(part)
    return "".join(parts)


def stacks_in(text: str) -> dict[int, str]:
    """The inverse of `stacks_text`."""
    parts = _HEADING.split(text)
    return {int(rank): stack.strip("\n") for rank, stack in zip(parts[1::2], parts[2::2], strict=True)}
