"""Commands that run beside a worker because the gang asked for them."""

import os
import selectors
import subprocess
from collections.abc import Callable

from muster.worker.gang.line import Message
from muster.worker.gang.process_list import send_signal

SHELL = "/bin/sh"


class StartedCommands:
    """The commands of one worker. What ends is reported to `ended`, with the number of the command."""

    def __init__(self, selector: selectors.BaseSelector, ended: Callable[[int, int], None]) -> None:
        self._selector = selector
        self._ended = ended
        self._hearing: dict[int, int] = {}
        """Commands that are told the signals of the worker: process by handle."""

    def start(self, message: Message) -> None:
        """Start a command in a session of its own: it hears what the worker's group is told only if it wants to."""
        child = subprocess.Popen([SHELL, "-c", message["command"]], stdin=subprocess.DEVNULL, start_new_session=True)
        handle = os.pidfd_open(child.pid)
        if message.get("hears"):
            self._hearing[handle] = child.pid
        number = message["number"]
        self._selector.register(handle, selectors.EVENT_READ, lambda: self._end(handle, child, number))

    def tell(self, number: int) -> None:
        """Send a signal to the commands that want to hear it."""
        for pid in self._hearing.values():
            send_signal(pid, number)

    def _end(self, handle: int, child: "subprocess.Popen[bytes]", number: int) -> None:
        self._selector.unregister(handle)
        os.close(handle)
        self._hearing.pop(handle, None)
        self._ended(number, exit_code(child))


def exit_code(child: "subprocess.Popen[bytes]") -> int:
    """How a child ended, as a shell says it."""
    code = child.wait()
    return 128 - code if code < 0 else code


def with_own_pid(command: list[str]) -> list[str]:
    """The command, in a process that knows its own number."""
    return [SHELL, "-c", 'SLURM_TASK_PID=$$; export SLURM_TASK_PID; exec "$@"', "sh", *command]
