"""No request sends more than it may: bytes are counted as they come, whatever the headers promise."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.problems import ProblemResponse, problem

POURED_LIMITS = 8
"""How many times what is allowed is read and thrown away for the sake of a good answer; who sends more is cut off."""


class BodyLimit:
    """An ASGI middleware that refuses bodies above a size with 413."""

    def __init__(self, app: ASGIApp, *, limit_bytes: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse at once what is announced as too large, and otherwise count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if _announced_bytes(scope) > self._limit_bytes:
            if not _is_asking_first(scope):
                await self._pour_away(receive)
            refusal = ProblemResponse(problem(413, "too_large", self._message()), {"Connection": "close"})
            await refusal(scope, receive, send)
            return
        await self._app(scope, self._counted(receive), send)

    def _counted(self, receive: Receive) -> Receive:
        received_bytes = 0

        async def counting() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > self._limit_bytes:
                if message.get("more_body", False):
                    await self._pour_away(receive)
                # The framework passes this exception on, and turns every other one into a complaint about JSON.
                raise HTTPException(413, self._message(), {"Connection": "close"})
            return message

        return counting

    async def _pour_away(self, receive: Receive) -> None:
        """Read on without keeping it: a client that is still sending when it is hung up on does not see the answer."""
        poured_bytes = 0
        while poured_bytes < POURED_LIMITS * self._limit_bytes:
            message = await receive()
            poured_bytes += len(message.get("body", b""))
            if not message.get("more_body", False):
                return

    def _message(self) -> str:
        return f"the body is larger than {self._limit_bytes} bytes; send less of it"


def _is_asking_first(scope: Scope) -> bool:
    """True when the client waits for a word before it sends the body."""
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"])


def _announced_bytes(scope: Scope) -> int:
    announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(announced) if announced.isdigit() else 0
