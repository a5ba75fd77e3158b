"""Requests to the writer: functions that its thread calls with the engine, and the answers that callers wait for."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition
from typing import Any, Generic, TypeVar

from muster.engine.engine import Engine
from muster.model.errors import InvariantViolated, MusterError, Unavailable
from muster.model.limits import INBOX_REQUESTS

T = TypeVar("T")
Action = Callable[[Engine, int], T]
"""Called once on the writer's thread with the engine and the present time."""


@dataclass(slots=True)
class WriterRequest(Generic[T]):
    """One request, and the future that gets its answer once it is durable."""

    action: Action[T]
    answer: Future[T]
    outcome: T | None = None
    error: MusterError | None = None

    def open(self, engine: Engine, now_ms: int) -> None:
        """Do what it asks for. An expected error becomes the answer; any other error is a bug and is raised."""
        try:
            self.outcome = self.action(engine, now_ms)
        except InvariantViolated:
            raise
        except MusterError as error:
            self.error = error

    def reply(self, failure: MusterError | None = None) -> None:
        """Answer the caller, unless it has cancelled or was answered before."""
        if self.answer.done() or not self.answer.set_running_or_notify_cancel():
            return
        error = failure or self.error
        if error is not None:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(self.outcome)  # type: ignore[arg-type]


class Inbox:
    """A bounded list of requests that many threads fill and one empties."""

    def __init__(self) -> None:
        self._requests: list[WriterRequest[Any]] = []
        self._changed = Condition()
        self._has_news = False
        self._refusal = ""

    def put(self, action: Action[T]) -> Future[T]:
        """Add a request; the future is resolved when it was done and is durable."""
        request = WriterRequest(action, Future[T]())
        with self._changed:
            if self._refusal:
                raise Unavailable(self._refusal)
            if len(self._requests) >= INBOX_REQUESTS:
                raise Unavailable(f"{INBOX_REQUESTS} requests wait already; try again in a moment")
            self._requests.append(request)
            self._changed.notify()
        return request.answer

    def nudge(self) -> None:
        """Wake the writer, because there is news outside of the inbox."""
        with self._changed:
            self._has_news = True
            self._changed.notify()

    def take(self, wait_s: float | None) -> list[WriterRequest[Any]]:
        """All requests, after waiting at most this long for one or for a nudge; None waits for ever."""
        with self._changed:
            if not self._requests and not self._has_news:
                self._changed.wait(wait_s)
            requests, self._requests, self._has_news = self._requests, [], False
            return requests

    def refuse(self, reason: str) -> None:
        """Accept no more requests, and answer those that wait with the reason."""
        with self._changed:
            self._refusal = reason
            requests, self._requests = self._requests, []
        for request in requests:
            request.reply(Unavailable(reason))
