"""The headers of every answer for browsers and caches: do not store it, do not guess its type, do not frame it."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
OF_PEOPLE = {"Cache-Control": "no-store"}
"""Answers under /v1 are about people and their work, so no proxy and no browser may store them."""
OF_PAGES = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Headers:
    """An ASGI middleware that adds the headers that a route has not set itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and complete the headers of the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def completing(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                for name, value in _wanted(scope["path"], headers.get("content-type", "")).items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, completing)


def _wanted(path: str, media_type: str) -> dict[str, str]:
    wanted = dict(ALWAYS)
    if path.startswith("/v1/"):
        wanted |= OF_PEOPLE
    if media_type.startswith("text/html"):
        wanted |= OF_PAGES
    return wanted
