"""What `srun` reads, for the tasks that read it.

No more is read than tasks take: what they have not taken yet is at most one window.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

PIECE_BYTES = 16 << 10

WINDOW_BYTES = 64 << 10
"""How much may be on its way to the tasks that take least. The sockets in between hold it. So neither side waits until
the other has read, which would be for good if both did.
"""

ALL, NONE = "all", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReaders:
    """Which tasks read what, as `--input` says."""

    option: str = ALL
    """`all`, `none`, the number of a task, or the name of a file that each task reads."""

    @property
    def file(self) -> str:
        """The pattern for the file of a task; empty when tasks read what `srun` reads."""
        return "" if self.option in (ALL, NONE, "") or self.option.isdecimal() else self.option

    def has(self, task: int) -> bool:
        """True when a task reads what `srun` reads."""
        return not self.file and self.option != NONE and (not self.option.isdecimal() or int(self.option) == task)


class StepInput:
    """What `srun` reads, and how much of it each worker has taken."""

    def __init__(self, file: int, say_all: Callable[..., None]) -> None:
        self._file = file
        self._say_all = say_all
        self._sent_bytes = 0
        self._taken_bytes: dict[int, int] = {}
        self.is_over = False
        """True when there is nothing more to read."""

    def has_room(self, workers: set[int]) -> bool:
        """True when all of these workers have taken enough that more may be read."""
        least = min((self._taken_bytes.get(each, 0) for each in workers), default=self._sent_bytes)
        return self._sent_bytes - least < WINDOW_BYTES

    def taken(self, worker: int, taken_bytes: int) -> None:
        """The tasks beside a worker have taken so much, all of them."""
        self._taken_bytes[worker] = taken_bytes

    def read(self, encode: Callable[[bytes], str]) -> None:
        """Read a piece and send it to all workers."""
        data = os.read(self._file, PIECE_BYTES)
        self._sent_bytes += len(data)
        if data:
            self._say_all(input=encode(data))
        else:
            self.is_over = True
            self._say_all(input_over=True)
