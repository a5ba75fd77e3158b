"""The names that this server answers to, so that no page of somebody else's can speak to it through a browser.

A page can have its own name resolve to this machine (DNS rebinding); then the browser takes this server for a part of
that page. The name stands in `Host`, and where the page came from in `Origin`: both must be names of this server.
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
"""Allows every name: for a server behind something that checks them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHosts:
    """Which names are ours. This machine's loopback names always are: only this machine can use them."""

    names: frozenset[str] = frozenset()
    is_open_to_network: bool = False
    """Then addresses are names too: a page cannot have one of its own that is ours."""

    def allows(self, name: str) -> bool:
        """True for one of our names, without its port."""
        is_ours = name in self.names or ANY in self.names or is_loopback(name) or name.endswith(".localhost")
        return is_ours or (self.is_open_to_network and is_address(name))


def allowed_hosts(bound: str, configured: Iterable[str]) -> AllowedHosts:
    """The names of a server that listens on a host: that, those its operator names, and those of the machine."""
    names = {bound.lower(), *(each.lower() for each in configured)}
    if is_loopback(bound):
        return AllowedHosts(names=frozenset(names))
    machine = {socket.gethostname().lower(), socket.getfqdn().lower()}
    return AllowedHosts(names=frozenset(names | machine), is_open_to_network=True)


class Hosts:
    """An ASGI middleware that answers only to our names."""

    def __init__(self, app: ASGIApp, *, allowed: AllowedHosts) -> None:
        self._app = app
        self._allowed = allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is meant for this server."""
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
    return ProblemResponse(problem(status, code, detail), {"ClientConnection": "close"})


def _name(url: str) -> str:
    """The name in an address of the web; empty when there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _shown(said: list[str]) -> str:
    return one_line(said[0][:100]) if len(said) == 1 and said[0] else "anything" if not said else "two things at once"
