"""Identity, rate and turn of a request: decided from the headers, before any of the body is read.

A caller without a valid token is refused here. A caller that sends requests too often is told when to try again. All
other requests are answered in turn.
"""

import asyncio
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.front.body_limit import BUNDLES, announced_bytes, body_limit
from muster.api.front.rates import refuse_if_too_often
from muster.api.front.turns import PRESENT, Turn
from muster.api.gate import PRINCIPAL, address_of, bearer, identify
from muster.api.problems.handlers import response_to
from muster.api.services import Services, subject_of
from muster.model.client_limits import BUNDLE_REQUEST_BYTES, DENIED_REQUESTS, REQUEST_BYTES, THROTTLED_S
from muster.model.errors import MusterError, TooMany

GUARDED = "/v1/"
"""The prefix of paths that always need a token. Other paths are open, or check the token themselves."""

_DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


class Entrance:
    """An ASGI middleware that every HTTP request passes."""

    def __init__(self, app: ASGIApp, *, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when it is its turn, or answer why it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            subject = await self._subject(scope)
            await self._services.turns.enter(subject)
        except MusterError as error:
            if isinstance(error, TooMany):
                await asyncio.sleep(THROTTLED_S)
            await self._refuse(scope, receive, send, error)
            return
        turn = Turn(self._services.turns, subject)
        present = PRESENT.set(turn)
        try:
            await self._app(scope, receive, self._ending(turn, send))
        finally:
            PRESENT.reset(present)
            turn.end()

    def _ending(self, turn: Turn, send: Send) -> Send:
        """Sends an answer, whose beginning ends the turn."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                turn.end()
                if message["status"] in _DENIED:
                    self._services.rates.charge(turn.subject, DENIED_REQUESTS)
            await send(message)

        return noting

    async def _subject(self, scope: Scope) -> str:
        """The subject that sends the request. Raises when it cannot be identified or sends requests too often."""
        address = address_of(scope)
        if not scope["path"].startswith(GUARDED):
            return f"address {address}"
        principal = await identify(self._services, bearer(scope), address)
        scope[PRINCIPAL] = principal
        subject = subject_of(principal)
        refuse_if_too_often(self._services.rates.take(subject, _cost(scope, self._services)), subject)
        return subject

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, error: MusterError) -> None:
        response = response_to(error, self._services.deps.settings.conceal)
        if announced_bytes(scope) > body_limit(scope, self._services.deps.settings):
            # The server reads and discards an unread body before the next request, but not one that is too long.
            response.headers["Connection"] = "close"
        await response(scope, receive, send)


def _cost(scope: Scope, services: Services) -> int:
    """How many requests this one counts as. Its body is counted before it is received."""
    each_bytes = BUNDLE_REQUEST_BYTES if scope["path"] in BUNDLES else REQUEST_BYTES
    return 1 + min(announced_bytes(scope), body_limit(scope, services.deps.settings)) // each_bytes
