"""Connections: how many there are, how large the head of a request may be, and how long it may take.

uvicorn's own protocol has no such limits. They are added here and checked before any of our code sees a request. A
client that exceeds a limit gets an error answer where that is possible, and is disconnected.
"""

import asyncio
import json
import logging
import resource
from collections import Counter
from http import HTTPStatus
from typing import Any, ClassVar, Protocol

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from muster.api.problems.documents import problem
from muster.api.problems.handlers import MEDIA_TYPE
from muster.model.client_limits import (
    AGENT_CONNECTIONS,
    AGENT_DESCRIPTORS,
    BODY_S,
    CONNECTIONS,
    CONNECTIONS_PER_ADDRESS,
    DESCRIPTORS_KEPT,
    HEAD_BYTES,
    HEAD_LINES,
    HEAD_S,
)
from muster.model.limits import SEND_S

_log = logging.getLogger("muster.api")

AGENTS_PATH = b"/v1/agents/"
"""Where agents connect (`api.routes.machines.agents`)."""


class ClientConnection(Protocol):
    """The connection of one client."""

    transport: asyncio.Transport
    client: tuple[str, int] | None


class Connections:
    """All connections to one server. Only for the thread of the event loop."""

    def __init__(
        self, most: int | None = None, *, each: int = CONNECTIONS_PER_ADDRESS, agents: int = AGENT_CONNECTIONS
    ) -> None:
        self._most = _affordable() if most is None else most
        self._each = each
        self._agents_most = agents
        self._agents: dict[ClientConnection, None] = {}
        self._addresses: dict[ClientConnection, str] = {}
        self._counts: Counter[str] = Counter()
        self._idle: dict[ClientConnection, None] = {}
        """Connections without a request, longest idle first."""

    def enter(self, connection: ClientConnection) -> bool:
        """Count a connection; False when there is no room and no idle connection that could be closed."""
        address = connection.client[0] if connection.client else ""
        if self._counts[address] >= self._each and not self._make_room(address):
            return False
        if len(self._addresses) >= self._most and not self._make_room(None):
            return False
        self._addresses[connection] = address
        self._counts[address] += 1
        self._idle[connection] = None
        return True

    def enter_agent(self, connection: ClientConnection) -> bool:
        """Count a connection of an agent, apart from those of users: a fleet keeps no user out, nor users a fleet."""
        if len(self._agents) >= self._agents_most:
            return False
        self._agents[connection] = None
        return True

    def leave(self, connection: ClientConnection) -> None:
        """Forget a connection that is closed."""
        self._agents.pop(connection, None)
        self._idle.pop(connection, None)
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def note_busy(self, connection: ClientConnection) -> None:
        """Note that a connection has sent a request."""
        self._idle.pop(connection, None)

    def note_idle(self, connection: ClientConnection) -> None:
        """Note that the request of a connection was answered."""
        if connection in self._addresses:
            self._idle.pop(connection, None)
            self._idle[connection] = None

    def _make_room(self, address: str | None) -> bool:
        """Close the connection that has been idle longest, of one address or of all; False when there is none."""
        found = (each for each in self._idle if address is None or self._addresses[each] == address)
        longest = next(found, None)
        if longest is None:
            return False
        self.leave(longest)
        longest.transport.abort()
        return True


def _affordable() -> int:
    """How many connections are possible so that enough file descriptors stay free."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = CONNECTIONS if descriptors == resource.RLIM_INFINITY else min(CONNECTIONS, descriptors - DESCRIPTORS_KEPT)
    return max(most, 1)


def missing_descriptors(agents: int) -> str:
    """What to tell an operator whose server may not open as many files as so many agents need; empty if it may."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = AGENT_DESCRIPTORS * agents + CONNECTIONS + DESCRIPTORS_KEPT
    if not agents or descriptors == resource.RLIM_INFINITY or descriptors >= needed:
        return ""
    return (
        f"{agents} agents and {CONNECTIONS} other connections need {needed} open files, and this process may have "
        f"{descriptors}: raise `ulimit -n`, or LimitNOFILE of its unit"
    )


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's HTTP protocol with limits."""

    book: ClassVar[Connections]
    head_s: ClassVar[float] = HEAD_S
    body_s: ClassVar[float] = BODY_S
    send_s: ClassVar[float] = SEND_S

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._refusal = (HTTPStatus.BAD_REQUEST, "this is not HTTP as it is understood here")
        self._head_bytes = 0
        self._is_in_body = False
        self._patience: asyncio.TimerHandle | None = None
        """The timeout for the rest of a request."""
        self._acceptance: asyncio.TimerHandle | None = None
        """The timeout for a client that does not read its answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count a new connection, or refuse it."""
        super().connection_made(transport)
        if self.book.enter(self):
            self._be_patient(self.head_s)
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections are open; try again in a moment")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timeouts."""
        self.book.leave(self)
        self._lose_patience()
        self._stop_waiting_to_send()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes on, unless the head is too large or comes too slowly."""
        if self.transport.is_closing():
            return
        if not self._is_in_body:
            self._head_bytes += len(data)
            if self._patience is None:
                self._be_patient(self.head_s)
        super().data_received(data)
        if not self._is_in_body and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self._refuse(*_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Refuse a request with too many headers."""
        super().on_header(name, value)
        if len(self.headers) > HEAD_LINES:
            self._refusal = _TOO_LONG
            raise ValueError("too many headers")  # The parser stops, and the refusal is sent.

    def on_headers_complete(self) -> None:
        """Refuse a head that is too large; otherwise wait for the body."""
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES:
            self._refusal = _TOO_LONG
            raise ValueError("too long headers")
        self._is_in_body, self._head_bytes = True, 0
        self.book.note_busy(self)
        self._be_patient(self.body_s)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the timeout: the whole request has arrived."""
        self._is_in_body, self._head_bytes = False, 0
        self._lose_patience()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Count the connection as idle: the request was answered."""
        self.book.note_idle(self)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start a timeout: the client does not read its answer."""
        super().pause_writing()
        self._stop_waiting_to_send()
        self._acceptance = self.loop.call_later(self.send_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timeout: the client reads again."""
        self._stop_waiting_to_send()
        super().resume_writing()

    def hand_over(self, to: "BoundedWebSocket") -> None:
        """Give the connection and its place to another protocol.

        One that asks for an agent's path and may not have it is refused by the gate, and closed at once.
        """
        self._lose_patience()
        self.book.leave(self)
        if not self.url.startswith(AGENTS_PATH):
            self.book.enter(to)
            self.book.note_busy(to)
        elif not self.book.enter_agent(to):
            self.transport.abort()  # the agent tries again

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not a valid request."""
        _log.info("a request was not understood: %s", msg)
        self._refuse(*self._refusal)

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Send a problem document and close the connection."""
        document = problem(status, _CODES.get(status, "refused"), detail, retry_helps=status in _CODES)
        body = json.dumps(document.model_dump(exclude_none=True, mode="json")).encode()
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def _be_patient(self, for_s: float) -> None:
        self._lose_patience()
        self._patience = self.loop.call_later(for_s, self._hang_up)

    def _lose_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _stop_waiting_to_send(self) -> None:
        if self._acceptance is not None:
            self._acceptance.cancel()
            self._acceptance = None

    def _hang_up(self) -> None:
        """End the connection because the rest of the request did not come in time.

        If a body is missing or another request is still being answered, there is no answer.
        """
        cycle: RequestResponseCycle | None = self.cycle
        if self._is_in_body or (cycle and not cycle.response_complete):
            self.transport.abort()
        elif not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "the request did not come within its time")


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's websocket protocol, counted in the same way. It is never idle, since a user sits at the terminal."""

    book: ClassVar[Connections]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the place of the HTTP connection that requested the websocket."""
        before = transport.get_protocol()
        super().connection_made(transport)
        assert isinstance(before, BoundedHttp)
        before.hand_over(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.book.leave(self)
        super().connection_lost(exc)


_TOO_LONG = (
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    f"a request has at most {HEAD_LINES} headers with {HEAD_BYTES} bytes in all; send less",
)
_CODES = {HTTPStatus.SERVICE_UNAVAILABLE: "unavailable", HTTPStatus.REQUEST_TIMEOUT: "timed_out"}


def bounded(book: Connections | None = None) -> tuple[type[BoundedHttp], type[BoundedWebSocket]]:
    """The HTTP and websocket protocols of one server, which share one count of connections."""
    shared = {"book": book or Connections()}
    return type("Http", (BoundedHttp,), shared), type("WebSocket", (BoundedWebSocket,), shared)
