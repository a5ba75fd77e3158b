"""No request sends more than it may: bytes are counted as they come, whatever the headers promise."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.deps import Settings
from muster.api.problems.documents import problem
from muster.api.problems.handlers import ProblemResponse
from muster.model.client_limits import JOB_BODY_BYTES

POURED_LIMITS = 2
"""How many times what is allowed is read and thrown away for the sake of a good answer; who sends more is cut off."""


SUBMISSIONS = "/v1/jobs"
"""Where job files are sent."""

UNANNOUNCED = 1 << 62
"""Longer than anything: whoever does not say how long a body is may send the longest."""


class BodyLimit:
    """An ASGI middleware that refuses bodies above a size with 413."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse at once what is announced as too large, and otherwise count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit_bytes = body_limit(scope, self._settings)
        announced = announced_bytes(scope)
        if UNANNOUNCED > announced > limit_bytes:
            if not _is_asking_first(scope):
                await _pour_away(receive, limit_bytes)
            refusal = ProblemResponse(problem(413, "too_large", _message(limit_bytes)), {"ClientConnection": "close"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, self._counted(receive, limit_bytes), send)

    def _counted(self, receive: Receive, limit_bytes: int) -> Receive:
        received_bytes = 0

        async def counting() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > limit_bytes:
                if message.get("more_body", False):
                    await _pour_away(receive, limit_bytes)
                # The framework passes this exception on, and turns every other one into a complaint about JSON.
                raise HTTPException(413, _message(limit_bytes), {"ClientConnection": "close"})
            return message

        return counting


async def _pour_away(receive: Receive, limit_bytes: int) -> None:
    """Read on without keeping it: a client that is still sending when it is hung up on does not see the answer."""
    poured_bytes = 0
    while poured_bytes < POURED_LIMITS * max(limit_bytes, JOB_BODY_BYTES):
        message = await receive()
        poured_bytes += len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _message(limit_bytes: int) -> str:
    return f"the body is larger than {limit_bytes} bytes; send less of it"


def body_limit(scope: Scope, settings: Settings) -> int:
    """What a request may send: a job file, or something that is always shorter."""
    is_job = scope["method"] == "POST" and scope["path"] == SUBMISSIONS
    return settings.job_body_bytes if is_job else min(settings.body_bytes, settings.job_body_bytes)


def _is_asking_first(scope: Scope) -> bool:
    """True when the client waits for a word before it sends the body."""
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"])


def announced_bytes(scope: Scope) -> int:
    """How long the body is; `UNANNOUNCED` when it comes in pieces without a word."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return UNANNOUNCED
    announced = headers.get(b"content-length", b"0")
    return int(announced) if announced.isdigit() else 0
