"""The control plane's link to the supervisor of one node: talks to it, and says when it cannot.

    away ──▶ (starting) ──▶ greeting ── all of hello ──▶ up
     ▲                         │                         │
     └── pause, doubling ◀─────┴── died, hung, hung up ◀─┘

How the supervisor is found differs: on this machine it is looked for and started (`local_link`), on others an agent
connects by itself (`agent_link`).

Only the thread that runs the loop calls it.
"""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from muster.backends.base import Beside
from muster.backends.local.attachment import Attachment
from muster.backends.local.backlog import Backlog
from muster.backends.local.silence_limit import SilenceLimit
from muster.model.ids import JobId
from muster.model.instructions import Command, StartWorkers
from muster.model.machines.ownership import Leadership
from muster.model.node import Node
from muster.model.node_limits import (
    CONTROL_PING_MS,
    SUPERVISOR_BACKLOG,
    SUPERVISOR_HELLO_MS,
    SUPERVISOR_PAUSE_MAX_MS,
    SUPERVISOR_SILENCE_MS,
)
from muster.worker.loop import Loop, Timer
from muster.worker.messages import PROTOCOL, PROTOCOL_OLDEST
from muster.worker.service import Conversation, Message

LOOPBACK = "127.0.0.1"

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
    ping_ms: Callable[[], int] = lambda: CONTROL_PING_MS
    """How often each link pings now."""


class Link:
    """The link to one node."""

    def __init__(self, node: Node, loop: Loop, listener: Listener, leadership: Leadership) -> None:
        self.node = node
        self.is_lost = False
        self.has_greeted = False
        """True once it was up, also if it is lost now."""
        self.is_swept = False
        """True while it is lost, and nothing of what it ran is left."""
        self.hello: Message = {}
        """What it last said about itself."""
        self._loop = loop
        self._listener = listener
        self._leadership = leadership
        self._phase = Phase.AWAY
        self._timer: Timer | None = None
        self._patience = SilenceLimit(SUPERVISOR_HELLO_MS, SUPERVISOR_HELLO_MS / ROUNDS)
        """How long the present phase waits."""
        self._connection: Conversation | None = None
        self._is_held = False
        """True while nothing is read from it."""
        self._backlog = Backlog()
        self._failures = 0
        self._hang_ups = 0
        """Connections that ended since a greeting was complete."""
        self._up_s = 0.0

    @property
    def is_standing(self) -> bool:
        """True for a node that has a supervisor of its own, whatever it runs."""
        return True

    @property
    def is_up(self) -> bool:
        """True while the node can be talked to."""
        return self._phase is Phase.UP

    def is_heard_out(self, received: int) -> bool:
        """True when every report has come that a node had kept when it greeted, or when none will come."""
        return self.is_swept or (self.has_greeted and received >= self.hello.get("unheard", 0))

    def open(self) -> None:
        """Find the node's supervisor, or wait for it."""
        raise NotImplementedError

    def attach(self, job: JobId, beside: Beside | None) -> Attachment:
        """A user's connection to the supervisor. May be called on any thread, and waits. Raises `NotFound`."""
        raise NotImplementedError

    def given(self, _start: StartWorkers) -> Message:
        """What the node needs for a start beside the command, because it cannot read the home; empty when it can."""
        return {}

    def told(self, command: Command) -> Command:
        """A command as the node is to carry it out."""
        return command

    @property
    def address(self) -> str:
        """Where other nodes reach this one."""
        return LOOPBACK

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
        """Disconnect. The supervisor goes on."""
        self._hang_up(Phase.CLOSED)

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

    def _meet(self, channel: socket.socket, token: str) -> None:
        """Begin a conversation with a supervisor: show it its token, and whose command it is to obey."""
        connection = Conversation(channel, self._loop, hear=self._hear)
        connection.hold(self._is_held)
        connection.closed = self._hung_up
        self._connection = connection
        # Entered before anything is sent: if the other side has closed meanwhile, sending leaves the phase again.
        self._enter(Phase.GREETING)
        self._wait(SUPERVISOR_HELLO_MS, lambda: self._kill("its supervisor does not answer"))
        shown = self._leadership
        rule = {"cluster": shown.cluster, "epoch": shown.epoch, "takes_over": shown.takes_over}
        connection.say({"token": token, "as": "control", "protocol": PROTOCOL, **rule})
        connection.flush()

    def _kill(self, because: str) -> None:
        """Give up a supervisor that does not work."""
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
        self._hang_ups = 0
        self.is_lost = self.is_swept = False
        self._patience = SilenceLimit(SUPERVISOR_SILENCE_MS, self._listener.ping_ms())
        self._ping()

    def _ping(self) -> None:
        """Show that the control plane is here, and whether it decides. Kill a supervisor that answers no pings."""
        if not self._is_held and self._patience.pass_round():
            self._kill("its supervisor does not answer")
            return
        ping_ms = self._listener.ping_ms()
        self._later(ping_ms, self._ping)
        self.say({"ping": 0, "decides": self._listener.decides(), "next_ms": ping_ms})
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
