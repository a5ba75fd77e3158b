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
from typing import Any, NamedTuple

MEET_S = 1800.0
"""How long a worker waits for the first one to come up: as long as a gang may take to start."""

MEET_PAUSE_S = 0.05

LOOK_S = 0.1
"""How often the first worker looks whether the script has ended, and whether what it left has."""

ORPHANED_S = 60.0
"""How long a worker waits to be ended when the first worker vanished. By then the control plane has seen why."""

LOST, NO_WORKER = 1, 255
HUB = "hub"
SHELL = "/bin/sh"
_MPIRUN = ("mpirun", "mpiexec", "orterun", "prterun")
_DAEMONS = ("orted", "prted")
_OWN_FOLDERS = (
    "btl_vader_backing_directory",
    "osc_rdma_backing_directory",
    "osc_sm_backing_directory",
    "orte_tmpdir_base",
)
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
        self._is_told = False
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
        child = subprocess.Popen([SHELL, file], process_group=0)
        for each in _SIGNALS:
            signal.signal(each, lambda number, _: self._pass_on(number, child.pid))
        while child.poll() is None or (self._is_told and _group_is_alive(child.pid)):
            for key, _ in self._selector.select(LOOK_S):
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

    def _pass_on(self, number: int, group: int) -> None:
        """Tell the script and the processes of the program what the worker was told.

        Not `mpirun`: it would kill the processes a second later, and it ends when they have. The shell of the script
        dies, so that it does not go on with its next command.
        """
        self._is_told = True
        if number == signal.SIGTERM:
            tell_ranks(os.getpid())  # first, because without the shell they are no descendants of this process
        for each in _processes():
            if each.group == group and (number != signal.SIGTERM or each.name not in _MPIRUN):
                _signal(each.pid, number)

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
    # The whole gang is told at once. The daemons end with `mpirun`, when programs have saved themselves.
    # Not by ignoring it, because programs inherit what is ignored.
    for each in _SIGNALS:
        signal.signal(each, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: tell_ranks(os.getpid()))
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
        os.execve(SHELL, [SHELL, "-c", command], daemon_variables())
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(os.path.join(box, HUB))
        line = Line(connection)
        line.say(run=command, on=int(name), gang=gang)
        while (messages := line.hear()) is not None:
            for message in messages:
                return int(message["exit"])
    return NO_WORKER


def daemon_variables() -> dict[str, str]:
    """The environment of a daemon: what its processes share in memory is in files of their worker.

    Open MPI names these files by host and local rank, and workers of one machine would write to each other's memory.
    `mpirun` itself must not have these variables, because it passes its own on to all daemons.
    """
    own = os.path.dirname(os.environ["MUSTER_BOARDS"])
    return {**os.environ, **{f"OMPI_MCA_{name}": own for name in _OWN_FOLDERS}}


def tell_ranks(root: int) -> None:
    """Tell the processes that daemons below this process have started to leave."""
    table = {each.pid: each for each in _processes()}

    def is_below(pid: int) -> bool:
        while pid in table and pid != root:
            pid = table[pid].parent
        return pid == root

    for each in table.values():
        parent = table.get(each.parent)
        if parent is not None and parent.name in _DAEMONS and is_below(each.pid):
            _signal(-each.pid if each.group == each.pid else each.pid, signal.SIGTERM)


def exit_code(child: "subprocess.Popen[bytes]") -> int:
    """How a child ended, as a shell says it."""
    code = child.wait()
    return 128 - code if code < 0 else code


def _started(command: str) -> "subprocess.Popen[bytes]":
    """A daemon, in a session of its own: what the worker's group is told, it hears from `mpirun`."""
    return subprocess.Popen(
        [SHELL, "-c", command], stdin=subprocess.DEVNULL, start_new_session=True, env=daemon_variables()
    )


def _group_is_alive(group: int) -> bool:
    return any(each.group == group and each.state not in "ZX" for each in _processes())


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class ProcessLine(NamedTuple):
    """What is asked about a process."""

    pid: int
    name: str
    state: str
    parent: int
    group: int


def _processes() -> list[ProcessLine]:
    """Every process of this machine."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat") as file:
                text = file.read()
            begin, end = text.index("("), text.rindex(")")
            state, parent, group = text[end + 2 :].split()[:3]
            found.append(ProcessLine(int(name), text[begin + 1 : end], state, int(parent), int(group)))
    return found


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
