"""Limits the body of a request: bytes are counted as they arrive, whatever the headers announce."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.deps import Settings
from muster.api.problems.documents import problem
from muster.api.problems.handlers import ProblemResponse
from muster.model.client_limits import JOB_BODY_BYTES
from muster.worker.bundles.manifest import BLOCK_BYTES, MANIFEST_BYTES

POURED_LIMITS = 2
"""How many times the allowed size, or that of a job file if larger, is read and discarded so that the client sees the
answer. A client that sends more is cut off."""


SUBMISSIONS = "/v1/jobs"
"""The path to which job files are sent."""

BUNDLES = {"/v1/bundles": MANIFEST_BYTES, "/v1/bundles/blocks": BLOCK_BYTES + 64 * 1024}
"""The paths to which the files of jobs are sent, with the largest body of each: a manifest, or blocks with their
lengths."""

UNANNOUNCED = 1 << 62
"""Larger than any body. A body without an announced length counts as the longest one that is allowed."""


class BodyLimit:
    """An ASGI middleware that refuses bodies above a size with 413."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a body that is announced as too large at once, and count all others."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit_bytes = body_limit(scope, self._settings)
        announced = announced_bytes(scope)
        if UNANNOUNCED > announced > limit_bytes:
            if not _is_asking_first(scope):
                await _pour_away(receive, limit_bytes)
            refusal = ProblemResponse(problem(413, "too_large", _message(limit_bytes)), {"Connection": "close"})
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
                # The framework passes this exception on, and turns every other one into an error about JSON.
                raise HTTPException(413, _message(limit_bytes), {"Connection": "close"})
            return message

        return counting


async def _pour_away(receive: Receive, limit_bytes: int) -> None:
    """Read and discard more of the body: a client that is disconnected while it still sends does not see the answer."""
    poured_bytes = 0
    while poured_bytes < POURED_LIMITS * max(limit_bytes, JOB_BODY_BYTES):
        message = await receive()
        poured_bytes += len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _message(limit_bytes: int) -> str:
    return f"the body is larger than {limit_bytes} bytes; send less of it"


def body_limit(scope: Scope, settings: Settings) -> int:
    """The largest body that a request may send: that of files or of a job file, or a smaller one for all others."""
    if scope["method"] == "POST" and scope["path"] in BUNDLES:
        return BUNDLES[scope["path"]]
    is_job = scope["method"] == "POST" and scope["path"] == SUBMISSIONS
    return settings.job_body_bytes if is_job else min(settings.body_bytes, settings.job_body_bytes)


def _is_asking_first(scope: Scope) -> bool:
    """True when the client waits for `100 Continue` before it sends the body."""
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"])


def announced_bytes(scope: Scope) -> int:
    """The announced length of the body; `UNANNOUNCED` when it comes in chunks without a length."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return UNANNOUNCED
    announced = headers.get(b"content-length", b"0")
    return int(announced) if announced.isdigit() else 0
