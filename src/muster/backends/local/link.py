"""One node's supervisor, from the side of the control plane: found or started, talked to, replaced when it dies.

    absent ── start it, or find it alive ──▶ greeting ── hello ──▶ up
       ▲                                        │                   │
       └──────── pause, doubling ◀── it died, hung or never came ◀──┘

A successor ends what a dead supervisor left before it greets. Where none can be started, the node is swept from here,
by its journal: only then is what it ran known to be gone.

Only the thread that runs the loop calls it.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from muster.home import Home
from muster.model.leadership import Leadership
from muster.model.node import Node
from muster.model.node_limits import (
    CONTROL_PING_MS,
    SUPERVISOR_BACKLOG,
    SUPERVISOR_HELLO_MS,
    SUPERVISOR_PAUSE_MAX_MS,
    SUPERVISOR_SILENCE_MS,
)
from muster.private_files import open_private
from muster.processes import is_same
from muster.worker.inheritance import sweep
from muster.worker.loop import Loop, Timer
from muster.worker.processes import boot_id
from muster.worker.service import Connection, Message, address

RECONNECT_MS = 20
"""Between tries to reach a supervisor that lives: it has just closed the connection, or is about to die."""

STEADY_S = 10.0
"""After this long up, the next death is the first again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """A living supervisor."""

    pid: int
    start_ticks: int
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who hears what becomes of a link."""

    greeted: Callable[["Link", Message], None]
    heard: Callable[["Link", Message], None]
    lost: Callable[["Link", str], None]
    """Nobody can talk to the node. Called once until it greets again."""
    swept: Callable[["Link"], None]
    """What a lost node ran is gone. Called once at most until it greets again."""
    refused: Callable[["Link", str], None]
    """The node obeys another control plane."""


class Link:
    """The way to one node."""

    def __init__(
        self,
        home: Path,
        node: Node,
        loop: Loop,
        listener: Listener,
        leadership: Leadership,
        options: tuple[str, ...] = (),
    ) -> None:
        self.node = node
        self.is_up = False
        self.is_lost = False
        self.has_greeted = False
        """True once it was up, also if it is lost now."""
        self.hello: Message = {}
        """What it said of itself last."""
        self._home = home
        self._folder = Home(home).node(node.name)
        self._loop = loop
        self._listener = listener
        self._leadership = leadership
        self._options = options
        self._connection: Connection | None = None
        self._backlog: deque[tuple[int, Message]] = deque()
        """Commands that were not acknowledged."""
        self._numbered = 0
        self._handle: int | None = None
        """Tells when the supervisor ends."""
        self._starting: subprocess.Popen[bytes] | None = None
        self._timer: Timer | None = None
        self._failures = 0
        self._tries = 0
        self._up_s = 0.0
        self._heard_s = 0.0
        self._is_closed = False
        self._sweeping: int | None = None
        """Tells when a sweep has ended."""
        self._is_swept = False

    def open(self) -> None:
        """Find the node's supervisor, or start one."""
        if self._is_closed or self._starting is not None:
            return
        found = whereabouts(self._folder)
        if found is None:
            self._start()
        else:
            self._connect(found)

    def say(self, message: Message) -> None:
        """Send a message; what is not a command is not kept."""
        if self._connection is not None and self.is_up:
            self._connection.say(message)

    def command(self, message: Message) -> None:
        """Send a command, now or as soon as the node can be reached."""
        self._numbered += 1
        numbered = {"do": self._numbered, **message}
        self._backlog.append((self._numbered, numbered))
        if len(self._backlog) > SUPERVISOR_BACKLOG:
            self._backlog.clear()  # the control plane sends again what still matters
            self._kill("it has stopped taking commands")
            return
        self.say(numbered)

    def flush(self) -> None:
        """Send what was said."""
        if self._connection is not None:
            self._connection.flush()

    def close(self) -> None:
        """Leave the supervisor alone. One that is just being started is waited for, so that others find it."""
        self._is_closed = True
        if self._starting is not None:
            self._starting.wait()
        self._hang_up()
        self._forget_process()
        if self._timer is not None:
            self._timer.cancel()

    def _later(self, delay_ms: float, happen: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.after(delay_ms, happen)

    def _start(self) -> None:
        """Start a supervisor; the command returns when it can be talked to."""
        try:
            starting = self._launched()
        except OSError as error:
            self._fail(f"its supervisor cannot be started: {error}")
            self._sweep()
            return
        try:
            handle = os.pidfd_open(starting.pid)
        except OSError as error:
            # If it has come up nevertheless, the next look finds it.
            starting.kill()
            starting.wait()
            self._fail(f"its supervisor cannot be watched: {error}")
            return
        self._starting = starting
        self._loop.watch(handle, readable=lambda: self._started(handle))

    def _launched(self) -> subprocess.Popen[bytes]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = ("--home", str(self._home), "--node", self.node.name)
        with open(self._folder / "supervisor.log", "ab", opener=open_private) as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "muster.worker", *names, *self._options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _started(self, handle: int) -> None:
        self._loop.watch(handle)
        os.close(handle)
        assert self._starting is not None
        code = self._starting.wait()
        self._starting = None
        found = whereabouts(self._folder)
        if self._is_closed:
            return
        if found is None:
            self._fail(f"its supervisor cannot be started (exit code {code}): see {self._folder / 'supervisor.log'}")
            self._sweep()
        else:
            self._connect(found)

    def _connect(self, found: Whereabouts) -> None:
        """Reach a supervisor that lives, and show it its token."""
        channel = _reach(self._folder) if self._is_watching(found) else None
        if channel is None:
            self._tries += 1
            if self._tries * RECONNECT_MS > SUPERVISOR_HELLO_MS:
                self._kill("its supervisor cannot be reached")
            else:
                self._later(RECONNECT_MS, self.open)
            return
        connection = Connection(channel, self._loop, hear=self._hear)
        connection.closed = self._hung_up
        self._connection = connection
        # Set before anything is sent: if the other side has closed meanwhile, sending sets another one.
        self._later(SUPERVISOR_HELLO_MS, lambda: self._kill("its supervisor does not answer"))
        shown = self._leadership
        rule = {"cluster": shown.cluster, "epoch": shown.epoch, "takes_over": shown.takes_over}
        connection.say({"token": found.token, "as": "control", **rule})
        connection.flush()

    def _is_watching(self, found: Whereabouts) -> bool:
        """Learn of its end from now on; False when that is not possible, because it has ended or nothing is left."""
        self._forget_process()
        try:
            handle = os.pidfd_open(found.pid)
        except OSError:
            return False
        if not is_same(found.pid, found.start_ticks):
            os.close(handle)
            return False
        self._handle = handle
        self._loop.watch(handle, readable=self._died)
        return True

    def _forget_process(self) -> None:
        if self._handle is not None:
            self._loop.watch(self._handle)
            os.close(self._handle)
        self._handle = None

    def _died(self) -> None:
        self._forget_process()
        self._fail("its supervisor has ended")

    def _kill(self, because: str) -> None:
        """End a supervisor that is good for nothing; another one takes over what it left."""
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        else:
            self._fail(because)

    def _hear(self, _: Connection, message: Message) -> None:
        self._heard_s = time.monotonic()
        match message:
            case {"hello": dict(hello)}:
                self._greeted(hello)
            case {"done": int(number)}:
                while self._backlog and self._backlog[0][0] <= number:
                    self._backlog.popleft()
            case {"pong": _}:
                pass
            case {"refused": str(because)}:
                self.close()
                self._listener.refused(self, because)
            case _:
                self._listener.heard(self, message)

    def _greeted(self, hello: Message) -> None:
        self.hello = hello
        self.is_up = self.has_greeted = True
        self._up_s = time.monotonic()
        self._tries = 0
        self._listener.greeted(self, hello)
        self.is_lost = self._is_swept = False
        for _, message in self._backlog:
            self.say(message)
        self._check_pulse()

    def _check_pulse(self) -> None:
        silent_ms = (time.monotonic() - self._heard_s) * 1000
        if silent_ms > SUPERVISOR_SILENCE_MS:
            self._kill("its supervisor does not answer")
            return
        self._later(CONTROL_PING_MS, self._check_pulse)
        self.say({"ping": 0})
        self.flush()

    def _hang_up(self) -> None:
        self.is_up = False
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _hung_up(self, connection: Connection) -> None:
        """The other side has closed: it is dying, or did not like something."""
        if connection is self._connection:
            self._hang_up()
            self._later(RECONNECT_MS, self.open)

    def _fail(self, because: str) -> None:
        """There is no supervisor. Say so once, and start another one after a while."""
        self._hang_up()
        if self._is_closed:
            return
        if not self.is_lost:
            self.is_lost = True
            self._backlog.clear()  # for workers that are gone with it
            self._listener.lost(self, because)
        if self._up_s and time.monotonic() - self._up_s > STEADY_S:
            self._failures = 0
        pause_ms = min(50 << min(self._failures, 20), SUPERVISOR_PAUSE_MAX_MS) if self._failures else 0
        self._failures += 1
        self._later(pause_ms, self.open)

    def _sweep(self) -> None:
        """End what the last supervisor left, since no other one could be started to do it."""
        if self._sweeping is not None or self._is_swept or self._is_closed:
            return
        done = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        outcome: list[tuple[str, ...]] = []

        def run() -> None:
            with contextlib.suppress(OSError):
                outcome.append(sweep(self._folder))
            os.eventfd_write(done, 1)

        def finished() -> None:
            self._loop.watch(done)
            os.close(done)
            self._sweeping = None
            if outcome == [()] and self.is_lost and not self._is_closed:
                self._is_swept = True
                self._listener.swept(self)

        self._sweeping = done
        self._loop.watch(done, readable=finished)
        threading.Thread(target=run, name=f"sweep-{self.node.name}", daemon=True).start()


def whereabouts(folder: Path) -> Whereabouts | None:
    """The supervisor of a node, if it lives: never another process that has its pid by now."""
    try:
        said = json.loads((folder / "supervisor.json").read_text())
        found = Whereabouts(pid=said["pid"], start_ticks=said["start_ticks"], token=said["token"])
        is_alive = said["boot"] == boot_id() and is_same(found.pid, found.start_ticks)
        return found if is_alive and _serves(found.pid, folder) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _serves(pid: int, folder: Path) -> bool:
    """True when the process was started as the supervisor of this node of this home.

    It may be killed, so one proof is not enough; a home that was copied says the same of itself as the first.
    """
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    asked = dict(pairwise(arguments))
    home = os.fsencode(folder.parent.parent)
    return asked.get(b"--node") == folder.name.encode() and asked.get(b"--home") == home


def _reach(folder: Path) -> socket.socket | None:
    try:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    except OSError:
        return None
    try:
        place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            channel.connect(address(place))
        finally:
            os.close(place)
    except OSError:
        channel.close()
        return None
    return channel
