"""The boards of one worker: which ranks have one, how far they are, and how they ended."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from muster.model.node_limits import BOARDS_MOST
from muster.train.board import CANCELLED, CLOSED, COMMITTED, LEAVE, LEFT, OPEN, SAVING, Announcement, board_name
from muster.worker.notices import COUNT_MOST, RANKS_MOST
from muster.worker.training.board_file import BoardFile, BoardState

FOLDER = "boards"
"""The folder with boards in the folder of a worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one rank is, and how long its last steps took."""

    rank: int
    world: int
    step: int
    since_step_ms: int
    """How long ago the last step ended."""
    steps: int
    step_us: int
    busy_us: int
    p99_us: int
    flags: int
    board: int

    @property
    def is_saving(self) -> bool:
        """True while it saves."""
        return bool(self.flags & SAVING)

    @property
    def is_closed(self) -> bool:
        """True when its training is over, or it has saved and left."""
        return bool(self.flags & (CLOSED | LEFT))


@dataclass(slots=True, kw_only=True)
class _OpenBoard:
    """A board that is read, and what was read last."""

    file: BoardFile
    count: int = 0
    shown: dict[int, int] = field(default_factory=dict)
    """By the number of the control plane, the number that the last announcements have on this board."""


class WorkerBoards:
    """The boards of one worker."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the folder of the worker."""
        self._folder = str(folder / FOLDER)
        self._open: dict[int, _OpenBoard] = {}
        self.are_told = False
        """True once an announcement to leave was shown on them."""

    def __len__(self) -> int:
        return len(self._open)

    def made(self, rank: int) -> None:
        """A process says that it has made its board. It may have replaced an earlier one."""
        known = self._open.pop(rank, None)
        if known is not None:
            known.file.close()
        file = BoardFile.open(self._folder, rank) if len(self._open) < BOARDS_MOST else None
        if file is not None:
            self._open[rank] = _OpenBoard(file=file)

    def forget_earlier(self) -> None:
        """Let go of the boards of processes that are gone, if others are there.

        An agent of torchrun that forms its gang again starts other processes, and they may have other ranks.
        """
        gone = [rank for rank, each in self._open.items() if not _has_process(each)]
        for rank in gone if len(gone) < len(self._open) else ():
            self._open.pop(rank).file.close()

    def close(self) -> None:
        """Let go of all boards."""
        for each in self._open.values():
            each.file.close()
        self._open.clear()

    def states(self) -> Iterator[tuple[_OpenBoard, BoardState]]:
        """What all boards say now. A board that does not say what it must is left out."""
        for rank, each in tuple(self._open.items()):
            if each.file.is_replaced:
                self.made(rank)
            known = self._open.get(rank)
            state = None if known is None else known.file.read()
            if known is not None and state is not None and state.rank == rank < state.world <= RANKS_MOST:
                yield known, state

    def progress(self) -> list[Progress]:
        """How far all ranks are, with the steps since the last call."""
        return [_progress(known, state) for known, state in self.states()]

    def announce(self, number: int, step: int, kind: int, every: int) -> None:
        """Show an announcement of the control plane on all boards. Each board counts its own announcements."""
        self.are_told = self.are_told or kind == LEAVE
        for known, state in self.states():
            own = state.announced + 1
            known.file.announce(Announcement(own, step, kind, OPEN, every))
            known.shown = {number: own}

    def decide(self, number: int, is_kept: bool) -> None:
        """Commit or cancel an announcement where it was shown, unless something newer was."""
        for known in self._open.values():
            if (own := known.shown.get(number)) is not None:
                known.file.decide(own, COMMITTED if is_kept else CANCELLED)

    @property
    def have_left(self) -> bool:
        """True when a process has saved and returned."""
        return any(state.flags & LEFT for _, state in self.states())

    @property
    def have_finished(self) -> bool:
        """True when the training of all processes is over by itself."""
        found = [state.flags for _, state in self.states()]
        return bool(found) and all(flags & CLOSED and not flags & LEFT for flags in found)


def found_boards(folder: Path) -> WorkerBoards:
    """The boards in the folder of a worker that was not watched, because its supervisor had died."""
    boards = WorkerBoards(folder)
    try:
        names = os.listdir(folder / FOLDER)
    except OSError:
        return boards
    for name in names[: 4 * BOARDS_MOST]:
        rank = name.removeprefix("rank-").removesuffix(".board")
        if rank.isdecimal() and len(rank) < 8 and name == board_name(int(rank)):
            boards.made(int(rank))
    boards.forget_earlier()
    return boards


def _has_process(board: _OpenBoard) -> bool:
    """True while the process that made a board lives."""
    state = board.file.read()
    return state is not None and os.path.exists(f"/proc/{state.pid}")


def _progress(known: _OpenBoard, state: BoardState) -> Progress:
    since = known.count if known.count <= state.count else 0
    times = state.step_times_us(since)
    known.count = state.count
    steps = sorted(step for step, _ in times)
    busy = sorted(busy for _, busy in times if busy)
    return Progress(
        rank=state.rank,
        world=state.world,
        step=min(state.step, COUNT_MOST),
        since_step_ms=max(time.monotonic_ns() - state.step_at_ns, 0) // 1_000_000,
        steps=min(state.count - since, COUNT_MOST),
        step_us=steps[len(steps) // 2] if steps else 0,
        busy_us=busy[len(busy) // 2] if busy else 0,
        p99_us=steps[min(len(steps) * 99 // 100, len(steps) - 1)] if steps else 0,
        flags=state.flags,
        board=state.board,
    )
