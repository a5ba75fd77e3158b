"""Every worker of a gang but the first: it runs what it is sent, until the first worker has ended."""

import contextlib
import os
import selectors
import signal
import time

from muster.worker.gang.line import met
from muster.worker.gang.mpi import tell_ranks
from muster.worker.gang.started_commands import StartedCommands

ORPHANED_S = 60.0
"""How long a worker waits to be ended when the first worker vanished. By then the control plane has seen why."""

LOST = 1

FINISHED = "finished"
"""A file in the folder of a worker, which its supervisor looks for."""

PROBLEM = "problem"
"""Another one: why the program of the job could not be started, which its user reads as the reason of the job."""

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
"""What a worker may be told, and does not die of while its gang is there."""


def note_finished() -> None:
    """Write down that the job was done, though it had heard that its time ends."""
    _note(FINISHED, "")


def note_problem(text: str) -> None:
    """Write down why the program of the job could not be started."""
    _note(PROBLEM, text)


def _note(name: str, text: str) -> None:
    with (
        contextlib.suppress(OSError, KeyError),
        open(os.path.join(os.path.dirname(os.environ["MUSTER_BOARDS"]), name), "x") as file,
    ):
        file.write(text)


def wait(box: str, gang: str, rank: int) -> int:
    """Run what the first worker sends, until it has ended. Returns how it ended."""
    line = met(box)
    # The whole gang is told at once. What was started ends by itself, when programs have saved themselves.
    # Not by ignoring it, because programs inherit what is ignored.
    for each in SIGNALS:
        signal.signal(each, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: tell_ranks(os.getpid()))
    line.say(worker=rank, gang=gang)
    over: list[int] = []

    def read() -> None:
        messages = line.hear()
        if messages is None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            time.sleep(ORPHANED_S)
            over.append(LOST)
        for message in messages or ():
            if message.get("finished"):
                note_finished()
            if "over" in message:
                over.append(int(message["over"]))
            elif "tell" in message:
                started.tell(int(message["tell"]))
            else:
                started.start(message)

    with selectors.DefaultSelector() as selector:
        started = StartedCommands(selector, lambda number, code: line.say(exit=code, number=number))
        selector.register(line.connection, selectors.EVENT_READ, read)
        while not over:
            for key, _ in selector.select():
                key.data()
    return over[0]
