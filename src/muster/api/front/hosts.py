"""The names that this server answers to, so that no foreign web page can reach it through a user's browser.

A page can make its own name resolve to this machine (DNS rebinding). Then the browser treats this server as a part of
that page. `Host` holds the name, and `Origin` says where the page came from. Both must be names of this server.
"""

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from muster.api.problems.documents import problem
from muster.api.problems.handlers import ProblemResponse
from muster.loopback import is_address, is_loopback
from muster.model.printable import one_line

ANY = "*"
"""Allows every name, for a server behind a proxy that checks names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHosts:
    """The names of this server. Loopback names are always allowed, since only this machine can use them."""

    names: frozenset[str] = frozenset()
    is_open_to_network: bool = False
    """If true, IP addresses are allowed too. A foreign page cannot have an address of this server as its name."""

    def allows(self, name: str) -> bool:
        """True for a name of this server. The name has no port."""
        is_ours = name in self.names or ANY in self.names or is_loopback(name) or name.endswith(".localhost")
        return is_ours or (self.is_open_to_network and is_address(name))


def allowed_hosts(bound: str, configured: Iterable[str]) -> AllowedHosts:
    """The names of a server: the host it listens on, those its operator configured, and those of the machine.

    The machine's names and IP addresses count only when the server listens on the network.
    """
    names = {bound.lower(), *(each.lower() for each in configured)}
    if is_loopback(bound):
        return AllowedHosts(names=frozenset(names))
    machine = {socket.gethostname().lower(), socket.getfqdn().lower()}
    return AllowedHosts(names=frozenset(names | machine), is_open_to_network=True)


class Hosts:
    """An ASGI middleware that answers only to names of this server."""

    def __init__(self, app: ASGIApp, *, allowed: AllowedHosts) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests that are meant for this server, and refuse all others."""
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocket(scope, receive, send).send_denial_response(refusal)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> ProblemResponse | None:
        said = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        name = _name(f"//{said[0]}") if len(said) == 1 else ""
        if not self._allowed.allows(name):
            detail = (
                f"this server is not called {_shown(said)}; if it is, whoever runs it adds the name to allowed_hosts "
                "in [server] of muster.toml"
            )
            return _refused(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", detail)
        for origin in (value.decode("latin-1") for key, value in scope["headers"] if key == b"origin"):
            if not self._allowed.allows(_name(origin)):
                detail = f"requests from pages of {_shown([origin])} are not answered; allowed_hosts says whose are"
                return _refused(HTTPStatus.FORBIDDEN, "unknown_origin", detail)
        return None


def _refused(status: HTTPStatus, code: str, detail: str) -> ProblemResponse:
    return ProblemResponse(problem(status, code, detail), {"Connection": "close"})


def _name(url: str) -> str:
    """The host name in a URL; empty when there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _shown(said: list[str]) -> str:
    return one_line(said[0][:100]) if len(said) == 1 and said[0] else "anything" if not said else "two things at once"
