"""Counts requests by route and status, and measures the time until an answer begins."""

import time
from http import HTTPMethod

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.live.publishing.metrics import Metrics

NOWHERE = "(none)"
"""The route of requests that match no route: invented paths must not become labels of metrics."""


_METHODS = frozenset(method.value for method in HTTPMethod)


class Meter:
    """An ASGI middleware that counts requests."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note when the answer begins."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = time.perf_counter()

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", NOWHERE)
                after_s = time.perf_counter() - began_s
                method = scope["method"] if route != NOWHERE and scope["method"] in _METHODS else NOWHERE
                self._metrics.answered(method=method, route=route, status=message["status"], after_s=after_s)
            await send(message)

        await self._app(scope, receive, noting)
