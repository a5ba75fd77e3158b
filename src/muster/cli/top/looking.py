"""The threads of `muster top` that ask the server: again and again, and at once when an event says that it is time.

Nothing here draws. What is found is told to the screen, which runs on a thread of its own. Threads end when they are
stopped, or with the process: a request that hangs must not keep the user from leaving.
"""

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from muster.model.errors import MusterError, Unavailable

if TYPE_CHECKING:
    from muster.client import Client

FoundT = TypeVar("FoundT")

RETRY_S = 1.0
"""How soon the server is asked again after it did not answer."""
EVENTS_PAUSE_S = 5.0
"""How long to wait before the stream of events is asked for again, after it was refused or the server was lost."""


class Stopped(Exception):
    """The screen was left while a thread waited."""


class Connection:
    """The client. It is made anew after the server was lost, because a server may restart at another address."""

    def __init__(self, connect: Callable[[Callable[[float], None]], "Client"]) -> None:
        """`connect` makes a client that waits between tries with the function that it is given."""
        self._connect = connect
        self._lock = Lock()
        self.stopped = Event()
        self.client = connect(self.pause)

    def pause(self, seconds: float) -> None:
        """Wait, unless the screen is left."""
        if self.stopped.wait(seconds):
            raise Stopped

    def ask(self, question: "Callable[[Client], FoundT]") -> FoundT:
        """What the server answers. Raises what the client raises."""
        client = self.client
        try:
            return question(client)
        except Unavailable:
            self._renew(client)
            raise

    def _renew(self, lost: "Client") -> None:
        with self._lock:
            if self.client is lost:
                self.client = self._connect(self.pause)


class Looker(Generic[FoundT]):
    """Asks one question on a thread: soon after it was woken, and otherwise after a while."""

    def __init__(
        self,
        connection: Connection,
        look: "Callable[[Client], FoundT]",
        tell: Callable[[FoundT | MusterError], None],
        *,
        least_s: float,
        most_s: float,
    ) -> None:
        """Between two looks at least `least_s` pass, however often it is woken, and at most `most_s`."""
        self._connection = connection
        self._look = look
        self._tell = tell
        self._least_s = least_s
        self._most_s = most_s
        self._woken = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def wake(self) -> None:
        """Look again soon."""
        self._woken.set()

    def _run(self) -> None:
        try:
            while True:
                self._woken.clear()
                found = self._found()
                self._tell(found)
                self._connection.pause(self._least_s)
                most_s = RETRY_S if isinstance(found, MusterError) else self._most_s
                self._woken.wait(max(0.0, most_s - self._least_s))
        except Stopped:
            return

    def _found(self) -> FoundT | MusterError:
        try:
            return self._connection.ask(self._look)
        except MusterError as error:
            return error


def listen(connection: Connection, wake: Callable[[str | None], None]) -> Thread:
    """Call `wake` with the job of every event, on a thread. Without events the lookers still look now and then."""

    def run() -> None:
        try:
            while True:
                try:
                    for event in connection.client.events():
                        wake(event.job)
                except MusterError:
                    connection.pause(EVENTS_PAUSE_S)
        except Stopped:
            return

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread
