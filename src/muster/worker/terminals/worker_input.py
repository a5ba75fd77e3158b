"""What a worker reads: a user sends it from elsewhere, as `muster run` does with its own standard input.

Who sends it connects as the viewer of a terminal does, and sends
    {"input": base64}, {"end_input": true}    and receives {"over": reason, "code": 0} once the worker has all of it,
                                              or does not read any more; without a code, it has not got all of it
"""

from collections.abc import Callable

from muster.worker.loop import Loop
from muster.worker.messages import BadMessage, typed
from muster.worker.service import Conversation, Message
from muster.worker.terminals.piped_input import PipedInput

WAIT_MS = 60_000
"""How long a worker waits for its sender. Afterwards it reads nothing: otherwise it would wait for one that is gone."""

NOBODY_NOTE = b"\n[muster: nobody has sent what it reads, so it reads nothing]\n"
BROKEN_NOTE = b"\n[muster: what it reads ended after %d bytes, because its sender is gone]\n"


class WorkerInput:
    """The standard input of one worker, and who sends it."""

    def __init__(self, loop: Loop, note: Callable[[bytes], None]) -> None:
        """`note` adds a line to what the worker prints."""
        self._note = note
        self._sender: Conversation | None = None
        self._passed_bytes = 0
        self._has_all = False
        self._pipe = PipedInput(loop, hold=self._hold, ended=self._ended)
        self._patience = loop.after(WAIT_MS, self._give_up)

    @property
    def reading(self) -> int:
        """The end of the pipe that the worker gets. The code that starts the worker closes it."""
        return self._pipe.reading

    def attach(self, connection: Conversation) -> None:
        """Take what the worker reads from this connection. There is one sender at most."""
        if self._sender is not None or not self._pipe.is_open:
            _finish(connection, "what the worker reads has come from another sender, or has ended")
            return
        self._patience.cancel()
        self._sender = connection
        connection.listen(self._hear)
        connection.closed = self._left

    def close(self) -> None:
        """The worker has ended."""
        self._patience.cancel()
        self._pipe.close()
        self._say_over("the worker has ended")

    def _hear(self, _: Conversation, message: Message) -> None:
        match message:
            case {"input": str(text)}:
                data = typed(text)
                self._passed_bytes += len(data)
                self._pipe.type(data)
            case {"end_input": True}:
                self._has_all = True
                self._pipe.end()
            case {"resize": _}:
                pass
            case _:
                raise BadMessage("not a message to what a worker reads")

    def _hold(self, is_held: bool) -> None:
        if self._sender is not None:
            self._sender.hold(is_held)

    def _ended(self, has_read_all: bool) -> None:
        self._say_over("" if has_read_all else "the worker does not read any more", code=0)

    def _left(self, _: Conversation) -> None:
        """The sender is gone. What it has sent is still passed on."""
        self._sender = None
        if self._pipe.is_open and not self._has_all:
            self._note(BROKEN_NOTE % self._passed_bytes)
            self._pipe.end()

    def _give_up(self) -> None:
        self._note(NOBODY_NOTE)
        self._pipe.close()

    def _say_over(self, why: str, code: int | None = None) -> None:
        sender, self._sender = self._sender, None
        if sender is not None and sender.is_open:
            sender.closed = lambda _: None
            sender.hold(False)
            _finish(sender, why or "the worker has everything", code)


def _finish(connection: Conversation, why: str, code: int | None = None) -> None:
    connection.say({"over": why} if code is None else {"over": why, "code": code})
    connection.finish()
