"""Who asks, how often, and whose turn it is: known from the headers, before anything of a body is read.

Whoever shows no token that is known is sent away here; whoever asks too often is told when to come again; and everybody
else is answered in turn.
"""

import asyncio
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.front.body_limit import announced_bytes, body_limit
from muster.api.front.rates import refuse_if_too_often
from muster.api.gate import PRINCIPAL, address_of, bearer, identify
from muster.api.problems.handlers import response_to
from muster.api.services import Services, subject_of
from muster.model.client_limits import DENIED_REQUESTS, REQUEST_BYTES, THROTTLED_S
from muster.model.errors import MusterError, TooMany

GUARDED = "/v1/"
"""Where nothing is answered without a token; what lies elsewhere is for everybody, or asks for itself."""

_DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


class Entrance:
    """An ASGI middleware that every request passes."""

    def __init__(self, app: ASGIApp, *, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in when it is its turn, or say why it does not get one."""
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
        turn = _Turn(self._services, subject)
        try:
            await self._app(scope, receive, turn.ended_by(send))
        finally:
            turn.end()

    async def _subject(self, scope: Scope) -> str:
        """Whose request it is; raises when nobody knows, or when they ask too often."""
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
            # What is announced is read and thrown away by the server; what has no end is not.
            response.headers["ClientConnection"] = "close"
        await response(scope, receive, send)


class _Turn:
    """A turn that ends when the answer begins: what is streamed for minutes does not keep others waiting."""

    def __init__(self, services: Services, subject: str) -> None:
        self._services = services
        self._subject = subject
        self._has_ended = False

    def ended_by(self, send: Send) -> Send:
        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.end()
                if message["status"] in _DENIED:
                    self._services.rates.charge(self._subject, DENIED_REQUESTS)
            await send(message)

        return noting

    def end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._services.turns.leave(self._subject)


def _cost(scope: Scope, services: Services) -> int:
    """What a request counts as: a body is paid for before it is sent."""
    return 1 + min(announced_bytes(scope), body_limit(scope, services.deps.settings)) // REQUEST_BYTES
