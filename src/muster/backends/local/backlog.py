"""The commands that one node has not acknowledged, and which of them were sent on the present connection."""

from collections import deque

from muster.worker.service import Message


class Backlog:
    """Commands in the order in which they were given, numbered."""

    def __init__(self) -> None:
        self._numbered = 0
        self._kept: deque[tuple[int, Message]] = deque()
        self._unsaid: deque[Message] = deque()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, message: Message) -> None:
        """Keep a command until it is acknowledged."""
        self._numbered += 1
        numbered = {"do": self._numbered, **message}
        self._kept.append((self._numbered, numbered))
        self._unsaid.append(numbered)

    def done(self, number: int) -> None:
        """The node has recorded every command up to this number."""
        while self._kept and self._kept[0][0] <= number:
            self._kept.popleft()

    def begin_again(self) -> None:
        """The connection is new: every command that was not acknowledged is to be sent again."""
        self._unsaid = deque(message for _, message in self._kept)

    def next(self) -> Message | None:
        """The next command to send, if there is one."""
        return self._unsaid.popleft() if self._unsaid else None

    def clear(self) -> None:
        """Forget everything: the control plane sends these commands again where they still matter."""
        self._kept.clear()
        self._unsaid.clear()
