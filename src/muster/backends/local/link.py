"""The control plane's link to one node's supervisor: finds or starts it, talks to it, replaces it when it dies.

    away ── none lives ──▶ starting ──▶ greeting ── all of hello ──▶ up
     │ ▲                      │            ▲ │                       │
     │ └── pause, doubling ◀──┴── died, hung or never came ◀─────────┘
     └──── one lives ──────────────────────┘

A successor ends what a dead supervisor left before it greets. Where no successor can be started, the node is swept from
here, by its journal. Only then is it known that what it ran is gone.

Only the thread that runs the loop calls it.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from muster.backends.local.backlog import Backlog
from muster.backends.local.silence_limit import SilenceLimit
from muster.backends.local.starting import Starting
from muster.backends.local.supervisor_address import SupervisorAddress, reach, supervisor_address
from muster.backends.local.sweeping import Sweeping
from muster.home import Home
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import (
    CONTROL_PING_MS,
    SUPERVISOR_BACKLOG,
    SUPERVISOR_HELLO_MS,
    SUPERVISOR_PAUSE_MAX_MS,
    SUPERVISOR_SILENCE_MS,
    SUPERVISOR_START_MS,
)
from muster.processes import is_same
from muster.worker.loop import Loop, Timer
from muster.worker.messages import PROTOCOL, PROTOCOL_OLDEST
from muster.worker.service import Conversation, Message

RECONNECT_MS = 20
"""Pause between tries to reach a living supervisor: it has just closed the connection, or is about to die."""

UNGREETED = 5
"""With more connections than this that ended before a greeting was complete, the node cannot be reached."""

ROUNDS = 10
"""How many rounds a wait for a start or for a greeting has."""

STEADY_S = 10.0
"""After this long up, the next failure counts as the first again."""


class Phase(StrEnum):
    """The state of a link. Each phase has one timer, and leaving the phase ends the timer."""

    AWAY = "away"
    """Not connected; the link is opened after a pause."""
    STARTING = "starting"
    GREETING = "greeting"
    """Connected, and not all of the greeting has come."""
    UP = "up"
    CLOSED = "closed"
    """For good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Callbacks for what happens to a link."""

    greeted: Callable[["Link", Message], None]
    heard: Callable[["Link", Message], None]
    lost: Callable[["Link", str], None]
    """The node cannot be contacted. Called once until it greets again."""
    swept: Callable[["Link"], None]
    """What a lost node ran is gone. Called once at most until it greets again."""
    refused: Callable[["Link", str], None]
    """The node obeys another control plane."""
    decides: Callable[[], bool] = lambda: True
    """True while the control plane enforces limits and grace periods."""


class Link:
    """The link to one node."""

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
        self.is_lost = False
        self.has_greeted = False
        """True once it was up, also if it is lost now."""
        self.hello: Message = {}
        """What it last said about itself."""
        self._home = home
        self._folder = Home(home).node(node.name)
        self._loop = loop
        self._listener = listener
        self._leadership = leadership
        self._options = options
        self._phase = Phase.AWAY
        self._timer: Timer | None = None
        self._patience = SilenceLimit(SUPERVISOR_HELLO_MS, SUPERVISOR_HELLO_MS / ROUNDS)
        """How long the present phase waits."""
        self._starting: Starting | None = None
        self._connection: Conversation | None = None
        self._is_held = False
        """True while nothing is read from it."""
        self._backlog = Backlog()
        self._handle: int | None = None
        """Tells when the supervisor ends."""
        self._failures = 0
        self._tries = 0
        """Tries to reach a living supervisor."""
        self._hang_ups = 0
        """Connections that ended since a greeting was complete."""
        self._up_s = 0.0
        self._sweeping: Sweeping | None = None
        self.is_swept = False
        """True while it is lost, and nothing of what it ran is left."""

    @property
    def is_up(self) -> bool:
        """True while the node can be talked to."""
        return self._phase is Phase.UP

    def open(self) -> None:
        """Find the node's supervisor, or start one."""
        if self._phase is not Phase.AWAY:
            return
        found = supervisor_address(self._folder)
        if found is not None:
            self._connect(found)
        elif self._handle is not None:
            self._try_again()  # the last supervisor is about to end, and holds the node's lock until then
        else:
            self._start()

    def say(self, message: Message) -> None:
        """Send a message if the node is up. Unlike a command, it is not kept."""
        if self._connection is not None and self.is_up:
            self._connection.say(message)

    def command(self, message: Message) -> None:
        """Send a command, now or as soon as the node can be reached."""
        self._backlog.add(message)
        if len(self._backlog) > SUPERVISOR_BACKLOG:
            self._backlog.clear()  # the control plane sends again what still matters
            self._kill("it has stopped taking commands")
            return
        self._say_commands()

    def hold(self, is_held: bool) -> None:
        """Stop reading for now, or go on. The supervisor keeps what it has to report."""
        if is_held is not self._is_held:
            self._is_held = is_held
            if self._connection is not None:
                self._connection.hold(is_held)

    def flush(self) -> None:
        """Send pending messages, and commands as far as the node takes them."""
        self._say_commands()
        if self._connection is not None:
            self._connection.flush()

    def close(self) -> None:
        """Disconnect. A supervisor that is being started is waited for, so that others find it."""
        if self._starting is not None:
            self._starting.wait()
            self._starting = None
        self._hang_up(Phase.CLOSED)
        self._forget_process()

    def _enter(self, phase: Phase) -> None:
        """Enter a phase, and end the timer of the one before."""
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()

    def _later(self, delay_ms: float, happen: Callable[[], None]) -> None:
        """Let something happen later, while this phase lasts."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.after(delay_ms, happen)

    def _wait(self, wait_ms: float, give_up: Callable[[], None]) -> None:
        """Give up when the rounds of this phase have passed without a message."""
        self._patience = patience = SilenceLimit(wait_ms, wait_ms / ROUNDS)

        def pass_round() -> None:
            if not self._is_held and patience.pass_round():
                give_up()
            else:
                self._later(patience.round_ms, pass_round)

        self._later(patience.round_ms, pass_round)

    def _say_commands(self) -> None:
        connection = self._connection
        while connection is not None and self.is_up and connection.has_room:
            message = self._backlog.next()
            if message is None:
                break
            connection.say(message)

    def _start(self) -> None:
        """Start a supervisor."""
        try:
            self._starting = Starting(self._home, self.node.name, self._loop, self._started, self._options)
        except OSError as error:
            self._fail(f"its supervisor cannot be started: {error}")
            self._sweep()
            return
        self._enter(Phase.STARTING)
        # The command gives up by itself before, unless it is stopped or waits for a dead disk.
        self._wait(SUPERVISOR_START_MS + SUPERVISOR_HELLO_MS, self._give_up_start)

    def _started(self, code: int) -> None:
        self._starting = None
        found = supervisor_address(self._folder)
        if found is None:
            self._fail(f"its supervisor cannot be started (exit code {code}): see {self._folder / 'supervisor.log'}")
            self._sweep()
        else:
            self._connect(found)

    def _give_up_start(self) -> None:
        assert self._starting is not None
        self._starting.kill()
        self._starting = None
        self._fail("its supervisor hangs while it is started")

    def _connect(self, found: SupervisorAddress) -> None:
        """Connect to a living supervisor, and show it its token."""
        channel = reach(self._folder) if self._is_watching(found) else None
        if channel is None:
            self._try_again()
            return
        connection = Conversation(channel, self._loop, hear=self._hear)
        connection.hold(self._is_held)
        connection.closed = self._hung_up
        self._connection = connection
        # Entered before anything is sent: if the other side has closed meanwhile, sending leaves the phase again.
        self._enter(Phase.GREETING)
        self._wait(SUPERVISOR_HELLO_MS, lambda: self._kill("its supervisor does not answer"))
        shown = self._leadership
        rule = {"cluster": shown.cluster, "epoch": shown.epoch, "takes_over": shown.takes_over}
        connection.say({"token": found.token, "as": "control", "protocol": PROTOCOL, **rule})
        connection.flush()

    def _try_again(self) -> None:
        """Open the link again in a moment. After too many tries, kill the supervisor, which cannot be reached."""
        self._tries += 1
        if self._tries * RECONNECT_MS > SUPERVISOR_HELLO_MS:
            self._kill("its supervisor cannot be reached")
        else:
            self._enter(Phase.AWAY)
            self._later(RECONNECT_MS, self.open)

    def _is_watching(self, found: SupervisorAddress) -> bool:
        """Watch for its end from now on. False when that is not possible: it has ended, or no descriptor is left."""
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
        """Kill a supervisor that does not work. A successor takes over what it left."""
        if self._phase is Phase.STARTING:
            return  # it is not there yet
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        self._tries = 0
        self._fail(because)

    def _hear(self, _: Conversation, message: Message) -> None:
        self._patience.heard()
        match message:
            case {"hello": dict(hello)}:
                self._begin_greeting(hello)
            case {"alive": dict(gang)} if self._phase is Phase.GREETING:
                self.hello["alive"].append(gang)
            case {"greeted": _} if self._phase is Phase.GREETING:
                self._greeted()
            case {"done": int(number)}:
                self._backlog.done(number)
            case {"pong": _}:
                pass
            case {"refused": str(because)}:
                self.close()
                self._listener.refused(self, because)
            case _:
                self._listener.heard(self, message)

    def _begin_greeting(self, hello: Message) -> None:
        """Begin a greeting. What it runs follows, one message for each gang. An older supervisor says all at once."""
        spoken = hello.get("protocol")
        if not isinstance(spoken, int) or not PROTOCOL_OLDEST <= spoken <= PROTOCOL:
            self._fail(
                f"its supervisor speaks protocol {spoken}, and this Muster {PROTOCOL_OLDEST} to {PROTOCOL}: "
                "go on with the version that started it, or end it with `muster down --jobs`"
            )
            return
        self.hello = {"alive": [], **hello}
        if "alive" in hello:
            self._greeted()

    def _greeted(self) -> None:
        self._enter(Phase.UP)
        self.has_greeted = True
        self._up_s = time.monotonic()
        self._backlog.begin_again()
        self._listener.greeted(self, self.hello)
        if not self.is_up:
            return
        self._tries = self._hang_ups = 0
        self.is_lost = self.is_swept = False
        self._patience = SilenceLimit(SUPERVISOR_SILENCE_MS, CONTROL_PING_MS)
        self._ping()

    def _ping(self) -> None:
        """Show that the control plane is here, and whether it decides. Kill a supervisor that answers no pings."""
        if not self._is_held and self._patience.pass_round():
            self._kill("its supervisor does not answer")
            return
        self._later(CONTROL_PING_MS, self._ping)
        self.say({"ping": 0, "decides": self._listener.decides()})
        self.flush()

    def _hang_up(self, phase: Phase) -> None:
        connection, self._connection = self._connection, None
        self._enter(phase)
        if connection is not None:
            connection.close()

    def _hung_up(self, connection: Conversation) -> None:
        """The other side has closed: it is dying, or rejected a message."""
        if connection is not self._connection:
            return
        self._hang_ups += 1
        self._hang_up(Phase.AWAY)
        if self._hang_ups > UNGREETED:
            self._fail("connections to its supervisor end before it has greeted")
        else:
            self._later(RECONNECT_MS, self.open)

    def _fail(self, because: str) -> None:
        """The supervisor cannot be contacted. Report that once, and try again after a while."""
        if self._phase is Phase.CLOSED:
            return
        self._hang_up(Phase.AWAY)
        if not self.is_lost:
            self.is_lost = True
            self._backlog.clear()  # the control plane sends again what still matters once the node has greeted
            self._listener.lost(self, because)
        if self._up_s and time.monotonic() - self._up_s > STEADY_S:
            self._failures = 0
        pause_ms = min(50 << min(self._failures, 20), SUPERVISOR_PAUSE_MAX_MS) if self._failures else 0
        self._failures += 1
        self._later(pause_ms, self.open)

    def _sweep(self) -> None:
        """End what the last supervisor left, because no successor could be started to do it."""
        if self._sweeping is None and not self.is_swept and self._phase is not Phase.CLOSED:
            self._sweeping = Sweeping(self._folder, self._loop, self._was_swept)

    def _was_swept(self, is_clean: bool) -> None:
        self._sweeping = None
        if is_clean and self.is_lost and self._phase is not Phase.CLOSED:
            self.is_swept = True
            self._listener.swept(self)
