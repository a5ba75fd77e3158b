"""The board: one page of memory that a training process shares with the supervisor of its node.

Each process of a worker makes a file `rank-N.board` in the folder that MUSTER_BOARDS names, and says so with the notice
`board N`. It writes its steps there. The supervisor reads them, and writes announcements: at or after which step all
ranks save, and whether they leave. Neither side ever waits for the other, and a step costs a few memory accesses.

Every field is one aligned word of 64 bits, which is written and read in one piece. An announcement has several words,
so there are two places for it in turn, and its number is written last. A process first writes its step and then looks
at the announcement; a supervisor first writes the announcement and reads the step a few milliseconds later. So one of
them always sees the other: a process that did not see an announcement before its step shows that step.

    words     written by the process
    0         the mark of this format
    1 2 3     process id, rank, world size: ranks are those of the framework, one for each process
    4         flags: LEFT (it has saved and returned False), CLOSED (its training is over), SAVING, WAITS (at an
              announced step for the word of the others)
    5 6       the last finished step, and when by the monotonic clock, in nanoseconds
    7         how many steps were recorded since it was made
    8         when the process made the board, by the same clock
    16        the last recorded steps, as a ring of `RING` words: the low half is the duration of a step in
              microseconds, the high half the part of it in which this rank was busy itself (0 when not measured)

              written by the supervisor
    10        the number of the newest announcement; 0 when there is none
    288 296   the two places for announcements: step, every, kind, state (an announcement is in place `number % 2`)
"""

import mmap
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

SIZE = 4096
MARK = 0x4D5553544252_0001
RING = 256

LEFT, CLOSED, SAVING, WAITS = 1, 2, 4, 8
SAVE, LEAVE = 1, 2
"""Kinds of announcements: save and go on, or save and leave."""

OPEN, COMMITTED, CANCELLED = 1, 2, 3
"""States of announcements. A process that reaches the step of an open one waits for a short time. All ranks have seen a
committed one in time. A cancelled one is replaced or given up."""

_MARK, _PID, _RANK, _WORLD, _FLAGS, _STEP, _STEP_AT, _COUNT, _MADE_AT, NUMBER_AT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 10
RING_AT, PLACES_AT = 16, (288, 296)
US_MAX = (1 << 32) - 1
"""Half of a word of the ring, which holds two durations."""


@dataclass(frozen=True)
class Announcement:
    """At which step all ranks do something."""

    number: int
    """Numbers only rise."""
    step: int
    """The first step at or after this one is meant, for ranks that do not report each step."""
    kind: int
    state: int
    every: int = 0
    """After that step the ranks save again each time after this many steps; 0 means not until the next announcement."""


@dataclass(frozen=True)
class StepTime:
    """How long one step took, and how much of it the rank was busy itself."""

    step_us: int
    busy_us: int


class Board:
    """One board, open in the process that made it or in the supervisor of its node."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._words = memoryview(memory).cast("Q")

    @classmethod
    def make(cls, folder: str, rank: int, world: int) -> "Board":
        """Make the board of a process. A process that has the rank of an earlier one takes its place."""
        path = os.path.join(folder, board_name(rank))
        part = f"{path}.{os.getpid()}"
        file = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(file, SIZE)
            board = cls(mmap.mmap(file, SIZE))
        finally:
            os.close(file)
        words = board._words
        words[_PID], words[_RANK], words[_WORLD] = os.getpid(), rank, world
        words[_MADE_AT] = words[_STEP_AT] = time.monotonic_ns()
        words[_MARK] = MARK
        os.replace(part, path)
        return board

    @classmethod
    def open(cls, path: str) -> "Board | None":
        """The board in a file; None when the file is missing or is no board. Links are not followed."""
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            if os.fstat(file).st_size != SIZE:
                return None
            board = cls(mmap.mmap(file, SIZE))
        except (OSError, ValueError):
            return None
        finally:
            os.close(file)
        return board if board._words[_MARK] == MARK else None

    def close(self) -> None:
        """Let go of the memory."""
        self._words.release()
        self._memory.close()

    pid = property(lambda self: int(self._words[_PID]))
    rank = property(lambda self: int(self._words[_RANK]))
    world = property(lambda self: int(self._words[_WORLD]))
    flags = property(lambda self: int(self._words[_FLAGS]))
    step = property(lambda self: int(self._words[_STEP]))
    step_at_ns = property(lambda self: int(self._words[_STEP_AT]))
    steps_recorded = property(lambda self: int(self._words[_COUNT]))
    made_at_ns = property(lambda self: int(self._words[_MADE_AT]))
    announced = property(lambda self: int(self._words[NUMBER_AT]))
    """The number of the newest announcement, for a quick look whether there is news."""

    def flag(self, flag: int, is_set: bool = True) -> None:
        """Set or clear one flag. Only for the process itself."""
        flags = self._words[_FLAGS]
        self._words[_FLAGS] = flags | flag if is_set else flags & ~flag

    def resume_at(self, step: int) -> None:
        """The process begins at this step."""
        self._words[_STEP], self._words[_STEP_AT] = step, time.monotonic_ns()

    def record(self, step: int, at_ns: int, step_us: int, busy_us: int = 0) -> None:
        """The process has finished a step."""
        words = self._words
        count = words[_COUNT]
        words[RING_AT + count % RING] = min(step_us, US_MAX) | min(busy_us, US_MAX) << 32
        words[_COUNT] = count + 1
        words[_STEP_AT] = at_ns
        words[_STEP] = step

    def step_times(self, since: int = 0) -> Iterator[StepTime]:
        """The recorded steps after the first `since`, oldest first, as far as they are still in the ring."""
        count = self.steps_recorded
        for index in range(max(since, count - RING), count):
            word = int(self._words[RING_AT + index % RING])
            yield StepTime(step_us=word & US_MAX, busy_us=word >> 32)

    def announce(self, announcement: Announcement) -> None:
        """Show an announcement to the process. Only for the supervisor."""
        place = PLACES_AT[announcement.number % 2]
        words = self._words
        words[place], words[place + 1] = announcement.step, announcement.every
        words[place + 2], words[place + 3] = announcement.kind, announcement.state
        words[NUMBER_AT] = announcement.number

    def decide(self, number: int, state: int) -> None:
        """Commit or cancel the newest announcement. An older one is left as it is."""
        if self.announced == number:
            self._words[PLACES_AT[number % 2] + 3] = state

    @property
    def announcement(self) -> Announcement | None:
        """The newest announcement; None when there is none yet."""
        while True:
            number = self.announced
            if not number:
                return None
            found = self._place(number)
            # The place is written anew only after the next number.
            if self.announced == number:
                return found

    def announcement_numbered(self, number: int) -> Announcement | None:
        """The newest announcement or the one before it; None when the number is neither."""
        while True:
            newest = self.announced
            if not 0 < number <= newest or number < newest - 1:
                return None
            found = self._place(number)
            if self.announced == newest:
                return found

    def _place(self, number: int) -> Announcement:
        place = PLACES_AT[number % 2]
        step, every, kind, state = (int(word) for word in self._words[place : place + 4])
        return Announcement(number, step, kind, state, every)


def board_name(rank: int) -> str:
    """The file with the board of a rank."""
    return f"rank-{rank}.board"


def stack_name(rank: int) -> str:
    """The file beside it into which the process writes its stacks."""
    return f"rank-{rank}.stack"


def has_earlier_process(folder: "str | None") -> bool:
    """True when a process that has ended left a board in the folder: its worker runs its processes again."""
    return any(not _is_alive(pid) for pid in _pids_in(folder))


def has_living_process(folder: "str | None") -> bool:
    """True while a process lives that has a board in the folder."""
    return any(_is_alive(pid) for pid in _pids_in(folder))


def _pids_in(folder: "str | None") -> Iterator[int]:
    try:
        names = [] if folder is None else os.listdir(folder)
    except OSError:
        return
    for name in names:
        board = Board.open(os.path.join(folder or "", name)) if name.endswith(".board") else None
        if board is not None:
            yield board.pid
            board.close()


def _is_alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
