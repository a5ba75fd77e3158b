"""Identifies the caller and checks permissions: the only way into a route.

Every route takes a `Caller` from `Needs`, or declares with `Open` that it needs no token. An application with a route
that does neither does not start.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import FastAPI, Request, Security, WebSocket
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute, iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import cookie_parser
from starlette.routing import BaseRoute
from starlette.types import Scope

from muster.access.keyring import Keyring
from muster.access.permissions import Permission
from muster.access.principal import Principal, may, may_somewhere
from muster.access.sessions import joined
from muster.api.deps import Audience, Deps
from muster.api.front.rates import refuse_if_too_often
from muster.api.services import Services, subject_of
from muster.loopback import is_loopback
from muster.model.errors import Refused, Unauthenticated
from muster.model.ids import TeamPath

PRINCIPAL = "muster.principal"
"""The key of the principal in the scope of a request, set by the entrance."""

TICKET = "bearer."
"""The prefix of a websocket subprotocol that carries a token."""

PAGE_TICKET = "page."
"""The prefix of a websocket subprotocol that carries the page's half of a session."""

PAGE_HEADER = b"x-muster-page"
SESSION_COOKIE = "muster_session"

_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="`muster_<id>_<secret>`", bearerFormat="muster")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, identified by a token."""

    principal: Principal
    services: Services

    @property
    def deps(self) -> Deps:
        """What the routes depend on."""
        return self.services.deps

    @property
    def name(self) -> str:
        """The name in which the caller acts."""
        return self.principal.name

    @property
    def actor(self) -> str:
        """The caller as events and the audit name it: also the attempt of a job that acts for its owner."""
        return self.principal.actor

    @property
    def subject(self) -> str:
        """The subject under which the caller's requests and streams are counted."""
        return subject_of(self.principal)

    def sees(self, team: TeamPath) -> bool:
        """True when the caller may see the team's jobs."""
        return may(self.principal, Permission.JOBS_SEE, team)


@dataclass(frozen=True, slots=True)
class Needs:
    """Admits callers who have a permission on some team. The route checks the team itself, once it knows the team."""

    permission: Permission | None
    """None admits every caller with a valid token."""

    async def __call__(
        self, request: Request, shown: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
    ) -> Caller:
        """The caller. Raises when the token is not valid, or the permission is missing."""
        services: Services = request.app.state.services
        principal = request.scope.get(PRINCIPAL)
        if principal is None:
            principal = await identify(services, "" if shown is None else shown.credentials, address_of(request.scope))
        caller = Caller(principal=principal, services=services)
        if self.permission is not None and not may_somewhere(principal, self.permission):
            await services.note_denial(principal, self.permission, request.scope["path"])
            raise Refused(f"{principal.name} may not do this: it needs {self.permission}")
        return caller


@dataclass(frozen=True, slots=True)
class NeedsUnlessLocal:
    """Like `Needs`, but without a token when metrics are open to everyone, or to local callers such as collectors."""

    permission: Permission

    async def __call__(
        self, request: Request, shown: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
    ) -> Services:
        """The services. Raises when a token is needed and it is not valid, or the permission is missing."""
        services: Services = request.app.state.services
        audience = services.deps.settings.metrics
        if audience is Audience.OPEN or (audience is Audience.LOOPBACK and shown is None and _is_local(request)):
            return services
        return (await Needs(self.permission)(request, shown)).services


def _is_local(request: Request) -> bool:
    """True for a request from this machine. False when a proxy forwarded it, since then its origin is unknown."""
    is_passed_on = any(name in request.headers for name in ("forwarded", "x-forwarded-for", "via"))
    return request.client is not None and is_loopback(request.client.host) and not is_passed_on


@dataclass(frozen=True, slots=True)
class NeedsTicket:
    """Like `Needs`, for a websocket. Browsers cannot send headers, so they offer a secret as a subprotocol.

    That is `bearer.TOKEN`, or `page.HALF` with the page's half of a session, whose other half is in the cookie.
    """

    permission: Permission

    async def __call__(self, websocket: WebSocket) -> Caller:
        """The caller. Raises when the token is not valid, or the permission is missing."""
        services: Services = websocket.app.state.services
        principal = await identify(services, _ticket(websocket), address_of(websocket.scope))
        services.count(principal)
        if not may_somewhere(principal, self.permission):
            await services.note_denial(principal, self.permission, websocket.scope["path"])
            raise Refused(f"{principal.name} may not do this: it needs {self.permission}")
        return Caller(principal=principal, services=services)


def bearer(scope: Scope) -> str:
    """The secret that a request shows; empty when there is none.

    Programs send it in the `Authorization` header. A browser that is signed in sends one half in its cookie, and the
    page the other half in a header of its own, which no foreign page can set.
    """
    shown = header_of(scope, b"authorization")
    if not shown:
        return joined(session_cookie(scope), header_of(scope, PAGE_HEADER))
    kind, _, secret = shown.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def header_of(scope: Scope, wanted: bytes) -> str:
    """The first header with this name; empty when there is none."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == wanted), "")


def session_cookie(scope: Scope) -> str:
    """The half of a session's secret that the browser keeps; empty when it has none."""
    return cookie_parser(header_of(scope, b"cookie")).get(SESSION_COOKIE, "")


def _ticket(websocket: WebSocket) -> str:
    if secret := bearer(websocket.scope):
        return secret
    offered: list[str] = websocket.scope.get("subprotocols", [])
    pages = (each.removeprefix(PAGE_TICKET) for each in offered if each.startswith(PAGE_TICKET))
    if secret := joined(session_cookie(websocket.scope), next(pages, "")):
        return secret
    return next((each.removeprefix(TICKET) for each in offered if each.startswith(TICKET)), "")


@dataclass(frozen=True, slots=True)
class Open:
    """Admits every request, without a token."""

    async def __call__(self, request: Request) -> Services:
        """The services."""
        services: Services = request.app.state.services
        return services


def address_of(scope: Scope) -> str:
    """The client address of a request; empty when it is unknown."""
    return scope["client"][0] if scope.get("client") else ""


async def identify(services: Services, secret: str, address: str) -> Principal:
    """The principal of a secret, however it was sent. Raises when the secret is not valid.

    An address that sent many wrong secrets is refused, except for secrets that were accepted before.
    """
    if not secret or not services.keyring.has_met(secret):
        refuse_if_too_often(services.strangers.wait_s(address), address or "this address")
    try:
        return await _looked_up(services, secret)
    except Unauthenticated:
        services.strangers.charge(address, 1)
        raise


async def _looked_up(services: Services, secret: str) -> Principal:
    if not secret:
        raise Unauthenticated("no token was shown; send one as `Authorization: Bearer …`")
    keyring: Keyring = services.keyring
    now_ms = services.deps.clock.now_ms()
    known = keyring.recall(secret, now_ms, store_answers=not services.deps.control.trouble)
    return known if known is not None else await asyncio.to_thread(keyring.identify, secret, now_ms)


def check_guarded(app: FastAPI) -> None:
    """Raise when a route has no permission check and is not declared open."""
    routes = [context.original_route for context in iter_route_contexts(app.routes)]
    bare = [str(getattr(route, "path", route)) for route in routes if demand_of(route) is None]
    if unguarded := [path for path in bare if path != app.openapi_url]:
        raise RuntimeError(f"routes without a permission: {', '.join(unguarded)}")


Demand = Needs | NeedsUnlessLocal | NeedsTicket | Open


def demand_of(route: BaseRoute) -> Demand | None:
    """What a route demands of its callers; None when it declares nothing."""
    if not isinstance(route, APIRoute | APIWebSocketRoute):
        return None
    return next((each for each in _calls(route.dependant) if isinstance(each, Demand)), None)


def _calls(dependant: Dependant) -> Iterable[object]:
    yield dependant.call
    for each in dependant.dependencies:
        yield from _calls(each)
