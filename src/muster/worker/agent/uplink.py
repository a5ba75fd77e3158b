"""Joins the supervisor of a node with a control plane that is elsewhere.

    control plane ◀── WebSocket ──▶ agent ◀── unix socket ──▶ supervisor

Binary frames are the conversation of the two, byte by byte. Text frames are the agent's own: files that it sends
(`mirror`), and `{"dial": id}`, with which the control plane asks for one more connection to the supervisor, for a user
at a terminal. The supervisor's token never leaves the node: the agent adds it to what is said first.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from muster.attempt_token import AUTHORITIES
from muster.home import Home
from muster.worker.agent.frames import BINARY, TEXT, Frame
from muster.worker.agent.last_sending import LastSending
from muster.worker.agent.mirror import Mirror
from muster.worker.agent.tunnel import CannotOpen, ControlAddress, NotWanted, Tunnel, open_tunnel
from muster.worker.loop import Loop
from muster.worker.supervisor_address import SupervisorLine, supervisor_line

READ_BYTES = 64 << 10
FIRST_LINE_BYTES = 64 << 10
"""How long the first line of a conversation may be, which shows the token."""

MIRROR_MS = 200
RETRY_MS = (200, 500, 1_000, 2_000, 5_000)
"""Pauses between tries to reach a control plane; the last is kept. It may be away for long, and jobs go on."""

SILENT_MS = 20_000
"""After how long without a word from the control plane another connection is tried. It pings every ten
seconds at least."""

DIALS_MOST = 64
"""Users at terminals of one node at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Which node an agent is for, and where it reports."""

    home: Path
    node: str
    servers: tuple[ControlAddress, ...]
    name: str = ""
    """What the server calls it, if it is not for the node but for an allocation there."""

    @property
    def path(self) -> str:
        """The path of the agent at each server."""
        return f"/v1/agents/{self.name or self.node}"

    @property
    def access(self) -> dict[str, str]:
        """The variables that tell its supervisor where Muster is, and whom to trust."""
        variables = {"MUSTER_URL": ",".join(server.url for server in self.servers)}
        authorities = next((server.authorities for server in self.servers if server.authorities), "")
        return {**variables, AUTHORITIES: os.path.abspath(authorities)} if authorities else variables


class Uplink:
    """Keeps the supervisor of a node connected with whichever control plane answers."""

    def __init__(
        self,
        post: Post,
        loop: Loop,
        ensure_supervisor: Callable[[], str],
        *,
        ended: Callable[[Tunnel], None] = Tunnel.close,
    ) -> None:
        """`ensure_supervisor` starts one where none lives, and returns why that was not possible.

        `ended` is told when the supervisor hangs up, and may go on using the tunnel.
        """
        self.refused_s: float | None = None
        """Since when every server that answers refuses this agent, by a monotonic clock; None while one takes it."""
        self._ended = ended
        self._post = post
        self._loop = loop
        self._ensure_supervisor = ensure_supervisor
        self._mirror = Mirror(Home(post.home).logs)
        self.last_sending = LastSending(self._mirror, loop)
        self._tunnel: Tunnel | None = None
        self._tries = 0
        self._told: str | None = None
        """What was said last; empty for being connected."""
        self._dials = 0
        self._is_heard = False
        """True when a frame came since the last look."""

    def open(self) -> None:
        """Try the next server, and go on until one takes the agent."""
        problem = self._ensure_supervisor() or self._try(self._post.servers[self._tries % len(self._post.servers)])
        self._tell(problem)
        if problem:
            pause_ms = RETRY_MS[min(self._tries // len(self._post.servers), len(RETRY_MS) - 1)]
            self._tries += 1
            self._loop.after(pause_ms, self.open)

    def close(self) -> None:
        """Hang up. The supervisor goes on."""
        if self._tunnel is not None:
            self._tunnel.closed = lambda: None
            self._tunnel.close()

    def _try(self, server: ControlAddress) -> str:
        supervisor = _supervisor(self._post)
        if supervisor is None:
            return "the supervisor of this node cannot be reached"
        try:
            tunnel = open_tunnel(server, self._post.path, self._loop, self._hear)
        except CannotOpen as error:
            supervisor.channel.close()
            if isinstance(error, NotWanted):
                self.refused_s = self.refused_s or time.monotonic()
            return str(error)
        self._tunnel, self._tries, self.refused_s = tunnel, 0, None
        self._relay = Relay(tunnel, supervisor, self._loop, ended=self._ended)
        self._relay.closed = self._lost
        self._server = server
        self._is_heard = True
        self._mirror.begin()
        self._begin_last_sending(tunnel)
        self._look(tunnel)
        self._listen(tunnel)
        return ""

    def _begin_last_sending(self, tunnel: Tunnel) -> None:
        """A node of an allocation has its output until the supervisor ends."""
        line = _supervisor(self._post) if self._post.name else None
        if line is not None:
            self.last_sending.begin(tunnel, line)

    def _lost(self) -> None:
        self._tunnel = None
        self._loop.after(RETRY_MS[0], self.open)

    def _look(self, tunnel: Tunnel) -> None:
        if tunnel is self._tunnel:
            if tunnel.has_room:
                self._mirror.look(lambda message: tunnel.send(TEXT, json.dumps(message).encode()))
            self._loop.after(MIRROR_MS, lambda: self._look(tunnel))

    def _listen(self, tunnel: Tunnel) -> None:
        """Hang up on a control plane that says nothing: the network may have dropped the connection in silence."""
        if tunnel is not self._tunnel:
            return
        if not self._is_heard:
            tunnel.close()
            return
        self._is_heard = False
        self._loop.after(SILENT_MS, lambda: self._listen(tunnel))

    def _hear(self, frame: Frame) -> None:
        self._is_heard = True
        if frame.kind == BINARY:
            self._relay.down(frame.payload)
            return
        try:
            message = json.loads(frame.payload)
        except ValueError:
            return
        match message:
            case {"kept": str(name), "size": int(size)}:
                self._mirror.answered(name, size)
            case {"behind": 0}:
                self.last_sending.answered()
            case {"dial": str(number)} if self._dials < DIALS_MOST and number.isalnum():
                self._dial(number)

    def _dial(self, number: str) -> None:
        """Open one more connection for a user at a terminal."""
        supervisor = _supervisor(self._post)
        if supervisor is None:
            return
        held: list[Relay] = []
        try:
            path = f"{self._post.path}/dials/{number}"
            tunnel = open_tunnel(self._server, path, self._loop, lambda frame: held[0].down(frame.payload))
        except CannotOpen as error:
            supervisor.channel.close()
            self._tell(str(error))
            return
        held.append(Relay(tunnel, supervisor, self._loop))
        self._dials += 1
        held[0].closed = self._hung_up

    def _hung_up(self) -> None:
        self._dials -= 1

    def _tell(self, problem: str) -> None:
        """Say once what is wrong, and once that it is over."""
        if problem != self._told:
            sys.stderr.write(f"{problem or f'connected with {self._server.url}'}\n")
            sys.stderr.flush()
            self._told = problem


def _supervisor(post: Post) -> SupervisorLine | None:
    return supervisor_line(Home(post.home).node(post.node))


class Relay:
    """Passes bytes between a tunnel and a connection to the supervisor, until one of them ends."""

    def __init__(
        self,
        tunnel: Tunnel,
        supervisor: SupervisorLine,
        loop: Loop,
        *,
        ended: Callable[[Tunnel], None] = Tunnel.close,
    ) -> None:
        """`ended` decides what becomes of the tunnel when the supervisor hangs up."""
        self._ended = ended
        self.closed: Callable[[], None] = lambda: None
        """Called once, when either side has ended."""
        self._tunnel = tunnel
        self._channel = supervisor.channel
        self._token: str | None = supervisor.token
        """What is added to the first line; None once that was passed on."""
        self._loop = loop
        self._first = bytearray()
        self._going = bytearray()
        self._is_open = True
        self._channel.setblocking(False)
        tunnel.closed = self.close
        self._watch()

    def down(self, data: bytes) -> None:
        """Bytes of the control plane for the supervisor."""
        if self._token is not None:
            self._first += data
            line, found, rest = self._first.partition(b"\n")
            if not found:
                if len(self._first) > FIRST_LINE_BYTES:
                    self.close()
                return
            data = _signed(bytes(line), self._token) + rest
            self._token = None
        self._going += data
        self._flush()

    def close(self) -> None:
        """End both sides."""
        if self._is_open:
            self._is_open = False
            self._loop.watch(self._channel.fileno())
            self._channel.close()
            self._tunnel.close()
            self.closed()

    def _watch(self) -> None:
        if self._is_open:
            # While the control plane takes nothing, nothing is read: the supervisor keeps what it has to say.
            readable = self._up if self._tunnel.has_room else None
            self._loop.watch(self._channel.fileno(), readable=readable, writable=self._flush if self._going else None)
            if readable is None:
                self._loop.after(MIRROR_MS, self._watch)

    def _up(self) -> None:
        try:
            data = self._channel.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.watch(self._channel.fileno())
            self._ended(self._tunnel)
            return
        self._tunnel.send(BINARY, data)
        self._watch()

    def _flush(self) -> None:
        try:
            while self._going and self._is_open:
                sent = self._channel.send(self._going)
                del self._going[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
        self._watch()


def _signed(line: bytes, token: str) -> bytes:
    """The first line with the supervisor's token."""
    try:
        message = json.loads(line)
    except ValueError:
        message = {}
    return json.dumps({**message, "token": token}).encode() + b"\n"
