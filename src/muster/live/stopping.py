"""How a signal ends the server: by an exception in the main thread, which closes everything on the way out."""

import os
import signal


class ToldToStop(BaseException):
    """A signal told this process to stop: interrupt the current work, and close everything on the way out."""


def leave_on_signals() -> None:
    """Raise `ToldToStop` on a signal. The HTTP server first answers open requests, then raises the signal again."""

    def leave(number: int, _frame: object) -> None:
        raise ToldToStop(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)


def end_this_process() -> None:
    """Another process leads. The writer's thread sends this signal, and the thread that serves handles it."""
    os.kill(os.getpid(), signal.SIGTERM)
