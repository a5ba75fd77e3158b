"""No request sends more than it may: bytes are counted as they come, whatever the headers promise."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muster.api.problems import ProblemResponse, problem


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
                # The framework passes this exception on, and turns every other one into a complaint about JSON.
                raise HTTPException(413, self._message(), {"Connection": "close"})
            return message

        return counting

    def _message(self) -> str:
        return f"the body is larger than {self._limit_bytes} bytes; send less of it"


def _announced_bytes(scope: Scope) -> int:
    announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(announced) if announced.isdigit() else 0
