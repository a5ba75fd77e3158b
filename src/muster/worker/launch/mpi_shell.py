"""A remote shell between the workers of one MPI gang: `mpirun` runs in the first worker, its daemons in all of them.

    lead BOX GANG FILE          the first worker: runs the script, and passes on what `mpirun` wants to run elsewhere
    wait BOX GANG RANK          every other worker: runs what it is sent, until the first worker has ended
    run BOX GANG RANK HOST …    what `mpirun` calls instead of `ssh`, in the first worker, which has this rank

A process that `mpirun` starts beside a worker is a child of that worker, so limits and kills hold for it, and it finds
that worker's environment. BOX is a folder that only this user can open. It is run as a file by the supervisor's
interpreter with the standard library alone: what the job puts on Python's path does not matter.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from typing import Any

MEET_S = 1800.0
"""How long a worker waits for the first one to come up: as long as a gang may take to start."""

MEET_PAUSE_S = 0.05
ORPHANED_S = 60.0
"""How long a worker waits to be ended when the first worker vanished. By then the control plane has seen why."""

LOST, NO_WORKER = 1, 255
HUB = "hub"
SHELL = "/bin/sh"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


class Line:
    """A connection on which each line is one message."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""

    def say(self, **message: Any) -> None:
        """Send a message. A receiver that has gone does not matter: its end is noticed elsewhere."""
        with contextlib.suppress(OSError):
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> list[dict[str, Any]] | None:
        """Read what has come; None at the end of the connection."""
        try:
            data = self.connection.recv(65536)
        except OSError:
            data = b""
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(each) for each in lines]


class Lead:
    """What the first worker runs: the script of the job, and the post office of its gang."""

    def __init__(self, box: str, gang: str) -> None:
        self._gang = gang
        self._workers: dict[int, Line] = {}
        self._callers: list[Line] = []
        """Who asked for a command, by the number of the command."""
        self._held: dict[int, list[dict[str, Any]]] = {}
        """Commands for workers that have not come up yet."""
        self._selector = selectors.DefaultSelector()
        self._path = os.path.join(box, HUB)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(self._path)
        self._door.listen(1024)
        self._selector.register(self._door, selectors.EVENT_READ)

    def run(self, file: str) -> int:
        """Run the script, and serve until it has ended."""
        child = subprocess.Popen([SHELL, file])
        ended = os.pidfd_open(child.pid)
        self._selector.register(ended, selectors.EVENT_READ)
        while child.poll() is None:
            for key, _ in self._selector.select():
                if key.fileobj is self._door:
                    line = Line(self._door.accept()[0])
                    self._selector.register(line.connection, selectors.EVENT_READ, line)
                elif isinstance(key.data, Line):
                    self._read(key.data)
        code = exit_code(child)
        for worker in self._workers.values():
            worker.say(over=code)
        os.unlink(self._path)
        return code

    def _read(self, line: Line) -> None:
        messages = line.hear()
        if messages is None:
            self._selector.unregister(line.connection)
            line.connection.close()
            return
        for message in messages:
            match message:
                case {"worker": int(rank), "gang": self._gang}:
                    self._workers[rank] = line
                    for held in self._held.pop(rank, ()):
                        line.say(**held)
                case {"run": str(command), "on": int(rank), "gang": self._gang}:
                    self._send(rank, {"command": command, "number": len(self._callers)})
                    self._callers.append(line)
                case {"exit": int(code), "number": int(number)} if 0 <= number < len(self._callers):
                    self._callers[number].say(exit=code)
                case _:  # of another gang that met here before
                    line.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, rank: int, message: dict[str, Any]) -> None:
        if rank in self._workers:
            self._workers[rank].say(**message)
        else:
            self._held.setdefault(rank, []).append(message)


def wait(box: str, gang: str, rank: int) -> int:
    """Run what the first worker sends, until it has ended. Returns how it ended."""
    line = Line(_met(box))
    # The whole gang is told at once. The daemons end with `mpirun`, which lets programs save themselves first.
    _outlive_signals()
    line.say(worker=rank, gang=gang)
    children: dict[int, tuple[subprocess.Popen[bytes], int]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(line.connection, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not line.connection:
                    child, number = children.pop(key.fd)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    line.say(exit=exit_code(child), number=number)
                    continue
                messages = line.hear()
                if messages is None:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
                    time.sleep(ORPHANED_S)
                    return LOST
                for message in messages:
                    if "over" in message:
                        return int(message["over"])
                    child = _started(message["command"])
                    handle = os.pidfd_open(child.pid)
                    children[handle] = (child, message["number"])
                    selector.register(handle, selectors.EVENT_READ)


def run(box: str, gang: str, own_rank: int, host: str, command: str) -> int:
    """Run a command beside the worker that the host stands for. Returns its exit code."""
    name = host.rpartition("-")[2]
    if not name.isdecimal():
        sys.stderr.write(f"muster: {host} is no worker of this gang: leave the hosts of mpirun to Muster\n")
        return NO_WORKER
    if int(name) == own_rank:
        os.execv(SHELL, [SHELL, "-c", command])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.path.join(box, HUB))
        line = Line(connection)
        line.say(run=command, on=int(name), gang=gang)
        while (messages := line.hear()) is not None:
            for message in messages:
                return int(message["exit"])
    return NO_WORKER


def exit_code(child: "subprocess.Popen[bytes]") -> int:
    """How a child ended, as a shell says it."""
    code = child.wait()
    return 128 - code if code < 0 else code


def _started(command: str) -> "subprocess.Popen[bytes]":
    """A daemon, in a session of its own: what the worker's group is told, it hears from `mpirun`."""
    return subprocess.Popen([SHELL, "-c", command], stdin=subprocess.DEVNULL, start_new_session=True)


def _outlive_signals() -> None:
    """Live on when the worker is told something. Not by ignoring it, because programs inherit what is ignored."""
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)


def _met(box: str) -> socket.socket:
    """A connection to the first worker, as soon as it is there."""
    give_up_s = time.monotonic() + MEET_S
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(os.path.join(box, HUB))
        except OSError:
            connection.close()
            if time.monotonic() > give_up_s:
                sys.exit("muster: the first worker of the gang did not come up")
            time.sleep(MEET_PAUSE_S)
        else:
            return connection


def main(arguments: list[str]) -> int:
    """One of the commands above."""
    match arguments:
        case ["lead", box, gang, file]:
            _outlive_signals()
            return Lead(box, gang).run(file)
        case ["wait", box, gang, rank]:
            return wait(box, gang, int(rank))
        case ["run", box, gang, rank, host, *words]:
            return run(box, gang, int(rank), host, " ".join(words))
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
