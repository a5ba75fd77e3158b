"""Who asks, and whether they may: the only way into a route.

Every route takes a `Caller` from `Needs`, or says with `Open` that it is for everybody. An application with a route
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
from starlette.routing import BaseRoute
from starlette.types import Scope

from muster.access.keyring import Keyring
from muster.access.permissions import Permission
from muster.access.principal import Principal, may, may_somewhere
from muster.api.deps import Audience, Deps
from muster.api.front.rates import refuse_if_too_often
from muster.api.services import Services, subject_of
from muster.loopback import is_loopback
from muster.model.errors import Refused, Unauthenticated
from muster.model.ids import TeamPath

PRINCIPAL = "muster.principal"
"""Where in the scope of a request its principal is, once the entrance has found out."""

TICKET = "bearer."
"""How a subprotocol begins that is a token."""

_bearer = HTTPBearer(auto_error=False, scheme_name="token", description="`muster_<id>_<secret>`", bearerFormat="muster")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who asks, known by their token."""

    principal: Principal
    services: Services

    @property
    def deps(self) -> Deps:
        """What the routes stand on."""
        return self.services.deps

    @property
    def name(self) -> str:
        """Who they are."""
        return self.principal.name

    @property
    def subject(self) -> str:
        """Whose requests and streams theirs are counted with."""
        return subject_of(self.principal)

    def sees(self, team: TeamPath) -> bool:
        """True when they may know of the team's jobs."""
        return may(self.principal, Permission.JOBS_SEE, team)


@dataclass(frozen=True, slots=True)
class Needs:
    """Lets those in who have a permission somewhere; on which team is checked where the team is known."""

    permission: Permission | None
    """None lets everybody in who has a token."""

    async def __call__(
        self, request: Request, shown: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
    ) -> Caller:
        """Whoever asks; raises when they are nobody, or may not."""
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
    """The same, unless figures are open to everybody, or to whoever asks from this machine as collectors do."""

    permission: Permission

    async def __call__(
        self, request: Request, shown: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
    ) -> Services:
        """What the routes stand on; raises when they are somewhere else, and nobody or not allowed."""
        services: Services = request.app.state.services
        audience = services.deps.settings.metrics
        if audience is Audience.OPEN or (audience is Audience.LOOPBACK and shown is None and _is_local(request)):
            return services
        return (await Needs(self.permission)(request, shown)).services


def _is_local(request: Request) -> bool:
    """False when somebody passed the request on: then nobody knows where it comes from."""
    is_passed_on = any(name in request.headers for name in ("forwarded", "x-forwarded-for", "via"))
    return request.client is not None and is_loopback(request.client.host) and not is_passed_on


@dataclass(frozen=True, slots=True)
class NeedsTicket:
    """The same for a websocket, where a browser cannot send the header: it offers `bearer.TOKEN` as a subprotocol."""

    permission: Permission

    async def __call__(self, websocket: WebSocket) -> Caller:
        """Whoever asks; raises when they are nobody, or may not."""
        services: Services = websocket.app.state.services
        principal = await identify(services, _ticket(websocket), address_of(websocket.scope))
        services.count(principal)
        if not may_somewhere(principal, self.permission):
            await services.note_denial(principal, self.permission, websocket.scope["path"])
            raise Refused(f"{principal.name} may not do this: it needs {self.permission}")
        return Caller(principal=principal, services=services)


def bearer(scope: Scope) -> str:
    """The secret in the header of a request; empty when it shows none."""
    shown = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"), "")
    kind, _, secret = shown.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def _ticket(websocket: WebSocket) -> str:
    if secret := bearer(websocket.scope):
        return secret
    offered: list[str] = websocket.scope.get("subprotocols", [])
    return next((each.removeprefix(TICKET) for each in offered if each.startswith(TICKET)), "")


@dataclass(frozen=True, slots=True)
class Open:
    """Lets everybody in."""

    async def __call__(self, request: Request) -> Services:
        """What the routes stand on."""
        services: Services = request.app.state.services
        return services


def address_of(scope: Scope) -> str:
    """Where a request comes from; empty when nobody knows."""
    return scope["client"][0] if scope.get("client") else ""


async def identify(services: Services, secret: str, address: str) -> Principal:
    """Whoever has shown this, in whichever way it came; raises when it does not open anything.

    Of an address that showed many wrong ones only those are looked up that were good.
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
    """Raise when somebody could get into a route without being asked who they are."""
    routes = [context.original_route for context in iter_route_contexts(app.routes)]
    bare = [str(getattr(route, "path", route)) for route in routes if demand_of(route) is None]
    if unguarded := [path for path in bare if path != app.openapi_url]:
        raise RuntimeError(f"routes without a permission: {', '.join(unguarded)}")


Demand = Needs | NeedsUnlessLocal | NeedsTicket | Open


def demand_of(route: BaseRoute) -> Demand | None:
    """What a route asks of those who come; None when it asks nothing."""
    if not isinstance(route, APIRoute | APIWebSocketRoute):
        return None
    return next((each for each in _calls(route.dependant) if isinstance(each, Demand)), None)


def _calls(dependant: Dependant) -> Iterable[object]:
    yield dependant.call
    for each in dependant.dependencies:
        yield from _calls(each)
