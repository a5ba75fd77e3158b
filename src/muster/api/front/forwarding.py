"""What a standby does with requests that only the leader can answer: it passes them on, and the answer back.

Passing on suits every caller. A redirect would not: browsers keep a page from following one to another address, and
programs do not send their token there. The leader checks the token, the session and the permission itself. Changes are
always passed on. Reads are answered here, unless the route finds that it needs the leader (`NotLeading`).
"""

import re
import ssl
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from muster.api.problems.concealing import Concealing
from muster.api.problems.handlers import response_to
from muster.live.leadership.reading import Readable
from muster.model.errors import MusterError, NotLeading, TimedOut

FORWARDED = "muster-forwarded"
"""The header of a request that was passed on. It is never passed on again: two standbys could send it in circles."""

READS = ("GET", "HEAD")

OF_THE_LEADER = re.compile(r"/v1/(jobs/[^/]+/(stacks|ranks)|nodes(/[^/]+)?/health|health)")
"""Reads of what only the leader measures."""

CONNECT_S = 2.0
ANSWER_S = 60.0

_ONE_HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host", "origin", "content-length"}
)
"""Headers that are about one connection, or about the address that was asked. The origin was checked here."""
_NOT_PASSED_BACK = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server"})


class Leader:
    """The way to the leader."""

    def __init__(self, control: Readable, conceal: Concealing, certificate: Path | None = None) -> None:
        """`certificate` is trusted besides the usual authorities: control planes may share one."""
        self._control = control
        self._conceal = conceal
        self.trust = _trusted(certificate)
        timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S)
        self._http = httpx.AsyncClient(timeout=timeout, trust_env=False, verify=self.trust)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def url(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """The address of the leader. Raises when there is none, or when this request was passed on already."""
        url = self._control.leader_url
        if not url or any(name == FORWARDED.encode() for name, _ in headers):
            raise NotLeading("this control plane stands by, and no other leads at present; try again in a moment")
        return url

    async def answer(self, request: Request) -> Response:
        """The leader's answer to a request."""
        try:
            return await self._answer(request)
        except MusterError as error:
            return response_to(error, self._conceal)

    async def _answer(self, request: Request) -> Response:
        url = self.url(request.scope["headers"])
        target = f"{url}{request.scope.get('raw_path', b'').decode('latin-1') or request.url.path}"
        query = request.scope["query_string"].decode("latin-1")
        body = await request.body()
        passed = self._http.build_request(
            request.method, f"{target}?{query}" if query else target, headers=_passed_on(request), content=body
        )
        try:
            response = await self._http.send(passed, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotLeading(
                f"this control plane stands by, and the leader at {url} cannot be reached: {str(error) or 'no answer'}"
            ) from None
        except httpx.TransportError as error:
            raise TimedOut(
                f"the leader at {url} took the request and did not answer ({str(error) or 'no answer'}); what was "
                "asked for may have been done: look before you ask again"
            ) from None
        kept = [(name, value) for name, value in response.headers.raw if name.decode().lower() not in _NOT_PASSED_BACK]
        answer = StreamingResponse(_read(response), status_code=response.status_code)
        answer.raw_headers = kept
        return answer


class Forwarding:
    """An ASGI middleware that passes changes on to the leader."""

    def __init__(self, app: ASGIApp, *, leader: Leader) -> None:
        self._app = app
        self._leader = leader

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what only the leader can do; let the routes answer the rest."""
        if scope["type"] != "http" or (scope["method"] in READS and not OF_THE_LEADER.fullmatch(scope["path"])):
            await self._app(scope, receive, send)
            return
        response = await self._leader.answer(Request(scope, receive))
        await response(scope, receive, send)


def _trusted(certificate: Path | None) -> ssl.SSLContext:
    """The usual authorities, those of SSL_CERT_FILE, and this certificate."""
    context = ssl.create_default_context()
    if certificate is not None:
        context.load_verify_locations(certificate)
    return context


def _passed_on(request: Request) -> list[tuple[str, str]]:
    client = request.client.host if request.client else "unknown"
    kept = [(name, value) for name, value in request.headers.items() if name not in _ONE_HOP]
    return [*kept, (FORWARDED, "1"), ("x-forwarded-for", client)]


async def _read(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in response.aiter_raw():
            yield chunk
    finally:
        await response.aclose()
