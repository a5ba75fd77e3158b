"""When a process that is alone saves: by its own clock, and when an older supervisor asks for it by a file."""

import contextlib
import os

ASKED_NS = 1_000_000_000
"""Time between two looks for the file."""

NEVER_NS = 1 << 62


class OwnClock:
    """Says when a save is due. Without a time and a file it never is."""

    def __init__(self, now_ns: int, every_s: float | None = None, ask: str | None = None) -> None:
        self._ask = ask
        self._every_ns = int(every_s * 1e9) if every_s is not None else NEVER_NS
        self._due_ns = now_ns + self._every_ns
        self.look_ns = min(self._due_ns, now_ns + ASKED_NS) if ask is not None else self._due_ns
        """Before this time nothing is due."""

    def is_due(self, now_ns: int) -> bool:
        """True when a save is due now; then the next one is due after the whole time."""
        is_due = now_ns >= self._due_ns or self.is_asked
        if is_due:
            self._due_ns = now_ns + self._every_ns
        self.look_ns = min(self._due_ns, now_ns + ASKED_NS) if self._ask is not None else self._due_ns
        return is_due

    @property
    def is_asked(self) -> bool:
        """True when the file is there."""
        return self._ask is not None and os.path.exists(self._ask)

    def answer(self) -> None:
        """What was asked for is done."""
        if self._ask is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._ask)
