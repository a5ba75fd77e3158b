"""One board, as the supervisor reads and writes it: through its file, and never through shared memory.

A job may truncate the file at any moment. A process that has it mapped would die of that, and the supervisor with all
workers of the node. Reads and writes of a file that is too short only fail. On one machine they see the same bytes as
the process that has the file mapped.
"""

import os
import stat
import struct
from dataclasses import dataclass

from muster.train.board import MARK, NUMBER_AT, PLACES_AT, RING, RING_AT, SIZE, US_MAX, Announcement, board_name

_WORDS = struct.Struct(f"={SIZE // 8}Q")
_ANNOUNCEMENT = struct.Struct("=4Q")
_WORD = struct.Struct("=Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardState:
    """What a board said at one moment."""

    pid: int
    rank: int
    world: int
    flags: int
    step: int
    step_at_ns: int
    count: int
    """How many steps were recorded since it was made."""
    made_at_ns: int
    announced: int
    words: tuple[int, ...]

    @property
    def board(self) -> int:
        """Differs from that of the process that had the rank before."""
        return self.made_at_ns % (1 << 53)

    def step_times_us(self, since: int) -> list[tuple[int, int]]:
        """Duration and busy time of the recorded steps after the first `since`, as far as they are in the ring."""
        first = max(since, self.count - RING)
        ring = (self.words[RING_AT + index % RING] for index in range(first, self.count))
        return [(word & US_MAX, word >> 32) for word in ring]


class BoardFile:
    """An open board."""

    def __init__(self, file: int) -> None:
        self._file = file

    @classmethod
    def open(cls, folder: str, rank: int) -> "BoardFile | None":
        """The board of a rank; None when there is none. Links are not followed, neither to the folder nor in it."""
        try:
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            # A pipe or a device must not keep the supervisor waiting.
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            file = os.open(board_name(rank), flags, dir_fd=place)
        except OSError:
            return None
        finally:
            os.close(place)
        if stat.S_ISREG(os.fstat(file).st_mode):
            return cls(file)
        os.close(file)
        return None

    @property
    def is_replaced(self) -> bool:
        """True when another file has its name, or none: the process of the rank was replaced."""
        return os.fstat(self._file).st_nlink == 0

    def read(self) -> BoardState | None:
        """What it says now; None when it is no board."""
        try:
            data = os.pread(self._file, SIZE, 0)
        except OSError:
            return None
        if len(data) != SIZE:
            return None
        words = _WORDS.unpack(data)
        if words[0] != MARK:
            return None
        pid, rank, world, flags, step, step_at_ns, count, made_at_ns = words[1:9]
        return BoardState(
            pid=pid,
            rank=rank,
            world=world,
            flags=flags,
            step=step,
            step_at_ns=step_at_ns,
            count=count,
            made_at_ns=made_at_ns,
            announced=words[NUMBER_AT],
            words=words,
        )

    def announce(self, announcement: Announcement) -> None:
        """Show an announcement. The number is written last, so that the process never sees half of it."""
        place = PLACES_AT[announcement.number % 2]
        body = (announcement.step, announcement.every, announcement.kind, announcement.state)
        self._write(place, _ANNOUNCEMENT.pack(*body))
        self._write(NUMBER_AT, _WORD.pack(announcement.number))

    def decide(self, number: int, state: int) -> None:
        """Commit or cancel the announcement with this number, which must be the newest or the one before."""
        self._write(PLACES_AT[number % 2] + 3, _WORD.pack(state))

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _write(self, word: int, data: bytes) -> None:
        try:
            os.pwrite(self._file, data, word * 8)
        except OSError:  # the disk is full, because the job has made holes in it; then nothing is announced
            return
