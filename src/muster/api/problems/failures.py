"""Unexpected exceptions: logged with an id, and answered with that id and nothing else."""

import logging
import secrets

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.problems.documents import problem
from muster.api.problems.handlers import ProblemResponse

_log = logging.getLogger("muster.api")


class Failures:
    """An ASGI middleware that catches every exception."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a problem document when the application fails before it has answered."""
        has_begun = False

        async def noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception:
            incident = secrets.token_hex(8)
            _log.exception("a request failed", extra={"incident": incident, "path": scope.get("path", "")})
            if scope["type"] != "http" or has_begun:
                raise
            detail = f"this is a fault of Muster, not yours; its log calls it {incident}"
            await ProblemResponse(problem(500, "internal", detail, incident=incident))(scope, receive, send)
