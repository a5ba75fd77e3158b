"""The agreement on a step among the ranks of one training outside Muster.

A thread in each process plays the supervisor, and the one of rank 0 the control plane too: it announces a step ahead of
all ranks through torch's own store, and commits it when all have seen it in time. No collective is added.

The decision is one word in the store, which is written once: rank 0 writes it, or a rank that has waited for it too
long and writes that nothing is saved. Whoever comes later takes what is there. So no rank ever saves a step that
another one has passed, however late a thread or the store is.
"""

import contextlib
import threading
import time
from typing import Any

from muster.train.board import CANCELLED, COMMITTED, OPEN, SAVE, Announcement, Board

LOOK_S = 0.1
"""Pause between two looks at the store."""

ARRIVAL_S = 2.0
"""How long an announcement takes to reach all ranks at most, as long as nothing is wrong."""

AHEAD_S = 5 * LOOK_S
"""How far ahead a step is announced. Ranks that reach it before the decision wait for it."""

AHEAD_STEPS = 5
"""The least number of steps between an announcement and its step."""

PREFIX = "muster-train"


class Announcer:
    """Announcements on the board of this process, agreed on with the other ranks."""

    def __init__(self, board: Board, store: Any, rank: int, world: int, every_s: float) -> None:
        self._board = board
        self._store = store
        self._rank = rank
        self._world = world
        self._every_s = every_s
        self._due_s = time.monotonic() + every_s
        self._number = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="muster-announcer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Announce nothing any more."""
        self._ended.set()
        self._thread.join(timeout=5 * LOOK_S)

    def saved(self) -> None:
        """A save was begun: the next one is due after the whole time."""
        self._due_s = time.monotonic() + self._every_s

    def settle(self, announcement: Announcement) -> int:
        """A rank does not wait any longer: nothing is saved at this step, unless that is decided; what is decided."""
        try:
            return self._decided(announcement.number, CANCELLED)
        except RuntimeError:  # the store is gone, and no rank can learn of a decision any more
            return CANCELLED

    def _run(self) -> None:
        # When the store is gone, rank 0 is gone, and training with it.
        with contextlib.suppress(RuntimeError):
            while not self._ended.wait(LOOK_S):
                if self._rank == 0 and time.monotonic() >= self._due_s:
                    self._announce()
                elif self._rank != 0:
                    self._follow()

    def _announce(self) -> None:
        number, self._number = self._number + 1, self._number + 1
        step = self._board.step + self._steps_ahead()
        self._board.announce(Announcement(number, step, SAVE, OPEN))
        self._set(f"step-{number}", step)
        deadline_s = time.monotonic() + ARRIVAL_S
        names = [f"seen-{number}-{rank}" for rank in range(1, self._world)]
        while not (is_there := self._has(names)) and time.monotonic() < deadline_s and not self._ended.is_set():
            time.sleep(LOOK_S / 4)
        seen = [self._take(name) for name in names] if is_there else []
        # The own step is read last: a rank that did not see the announcement shows it by now.
        is_in_time = is_there and all(at < step for at in seen) and self._board.step < step
        state = self._decided(number, COMMITTED if is_in_time else CANCELLED)
        self._board.decide(number, state)
        if state == COMMITTED:
            self.saved()

    def _follow(self) -> None:
        number = self._number + 1
        if not self._has([f"step-{number}"]):
            return
        self._number = number
        step = self._take(f"step-{number}")
        self._board.announce(Announcement(number, step, SAVE, OPEN))
        time.sleep(LOOK_S / 20)
        self._set(f"seen-{number}-{self._rank}", self._board.step)
        while not self._has([f"state-{number}"]) and not self._ended.is_set():
            time.sleep(LOOK_S / 20)
        if not self._ended.is_set():
            self._board.decide(number, self._take(f"state-{number}"))

    def _steps_ahead(self) -> int:
        """As many steps as ranks make while an announcement is on its way."""
        times = [time.step_us for time in self._board.step_times()][-50:]
        median_us = max(1, sorted(times)[len(times) // 2]) if times else 1_000_000
        return AHEAD_STEPS + int(AHEAD_S * 1_000_000 / median_us)

    def _decided(self, number: int, state: int) -> int:
        """Decide, unless it is decided; the decision."""
        return int(self._store.compare_set(f"{PREFIX}/state-{number}", "", str(state)))

    def _set(self, name: str, value: int) -> None:
        self._store.set(f"{PREFIX}/{name}", str(value))

    def _has(self, names: list[str]) -> bool:
        return bool(self._store.check([f"{PREFIX}/{name}" for name in names]))

    def _take(self, name: str) -> int:
        return int(self._store.get(f"{PREFIX}/{name}"))
