"""At which step all ranks save or leave, as the board announces it.

Steps of this process are compared with announcements and with the repeats that a committed announcement asked for.
`is_quiet` is what every step costs; everything else happens only when there is news or a step is reached.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

from muster.train.board import CANCELLED, COMMITTED, LEAVE, OPEN, SAVE, WAITS, Announcement, Board

DECISION_S = 5.0
"""How long a rank waits at an announced step for the decision: an announcement is decided within a few round trips to
the control plane, and a rank that waits keeps all others waiting."""

LOOK_S = 0.001
"""Pause between two looks at an undecided announcement."""

NEVER = sys.maxsize


class Agreement:
    """What one rank knows of announcements."""

    def __init__(self, board: Board, every_steps: int | None = None, patience_s: float = DECISION_S) -> None:
        self.settle: Callable[[Announcement], int] | None = None
        """Decides an announcement for which this rank does not wait any longer, for all ranks alike; the decision.
        Without it this rank goes on, and the others may decide otherwise."""
        self._board = board
        self._patience_s = patience_s
        self._seen = 0
        self._pending: list[Announcement] = []
        self._late: Announcement | None = None
        """One for whose decision this rank did not wait any longer."""
        self._every = 0
        self._repeat_at = NEVER
        self._own_every = every_steps or 0
        self._own_at = NEVER
        self.next_step = NEVER

    def begin(self, step: int) -> None:
        """Training begins at this step."""
        if self._own_every:
            self._own_at = (step // self._own_every + 1) * self._own_every
        self._set_next()

    def is_quiet(self, step: int) -> bool:
        """True when nothing is announced that was not seen, and nothing is to do at this step."""
        return step < self.next_step and self._board.announced == self._seen

    def due(self, step: int) -> int:
        """What to do at this step: SAVE, LEAVE or 0. Waits for an open announcement of this step for a short time."""
        self._take_news()
        self._take_late()
        kind = 0
        for announcement in [each for each in self._pending if step >= each.step]:
            self._pending.remove(announcement)
            kind = max(kind, self._decided(announcement, step))
        if step >= self._repeat_at:
            kind = max(kind, SAVE)
            self._repeat_at += ((step - self._repeat_at) // self._every + 1) * self._every
        if step >= self._own_at:
            kind = max(kind, SAVE)
            self._own_at = (step // self._own_every + 1) * self._own_every
        self._set_next()
        return kind

    def _take_news(self) -> None:
        """Take over announcements that were not seen. The one before the newest may still be ahead of this rank."""
        newest = self._board.announced
        if newest == self._seen:
            return
        for number in (newest - 1, newest):
            found = self._board.announcement_numbered(number) if number > self._seen else None
            if found is not None and found.state != CANCELLED:
                self._pending.append(found)
        self._seen = newest

    def _take_late(self) -> None:
        """One that was committed after this rank went on: the others save without this rank once, then all together."""
        if self._late is None:
            return
        state = self._state_of(self._late)
        if state == COMMITTED:
            self._repeat(self._late, self._board.step)
        if state != OPEN:
            self._late = None

    def _decided(self, announcement: Announcement, step: int) -> int:
        state = self._awaited(announcement)
        if state == OPEN:
            self._late = announcement
        if state != COMMITTED:
            return 0
        self._repeat(announcement, step)
        return announcement.kind

    def _awaited(self, announcement: Announcement) -> int:
        """The decision; OPEN when it did not come in time."""
        state = self._state_of(announcement)
        if state != OPEN:
            return state
        self._board.flag(WAITS)
        try:
            deadline_s = time.monotonic() + self._patience_s
            while (state := self._state_of(announcement)) == OPEN and time.monotonic() < deadline_s:
                time.sleep(LOOK_S)
            return self.settle(announcement) if state == OPEN and self.settle is not None else state
        finally:
            self._board.flag(WAITS, False)

    def _state_of(self, announcement: Announcement) -> int:
        """The state of an announcement now. One that was overwritten was given up."""
        found = self._board.announcement_numbered(announcement.number)
        if found is None or replace(found, state=announcement.state) != announcement:
            return announcement.state if announcement.state == COMMITTED else CANCELLED
        return found.state

    def _repeat(self, announcement: Announcement, step: int) -> None:
        if announcement.kind == LEAVE:
            return
        self._every = announcement.every
        self._repeat_at = NEVER
        if self._every:
            behind = max(0, step - announcement.step)
            self._repeat_at = announcement.step + (behind // self._every + 1) * self._every

    def _set_next(self) -> None:
        ahead = (announcement.step for announcement in self._pending)
        self.next_step = 0 if self._late is not None else min(self._repeat_at, self._own_at, *ahead, NEVER)
