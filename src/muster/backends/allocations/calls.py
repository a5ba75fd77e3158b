"""The calls to one engine, on a thread of its own: whoever asks never waits, and hears the answer later."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue

from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.book import AllocationBook
from muster.backends.allocations.engine import (
    AllocationEngine,
    AllocationRequest,
    EngineNode,
    EngineSilent,
    RequestRefused,
    SeenAllocation,
)
from muster.failpoints import failpoint

_log = logging.getLogger("muster.allocations")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswered:
    """What became of a request."""

    allocation: EngineAllocation
    engine_id: str = ""
    problem: str = ""
    """Why there is no allocation."""
    is_refused: bool = False
    """True when there will be none; otherwise it is not known whether there is one."""
    is_mistake: bool = False
    """True when the job itself is to blame for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSeen:
    """What the engine said of everything."""

    began_s: float
    """When it was asked, by a monotonic clock."""
    seen: tuple[SeenAllocation, ...]
    nodes: tuple[EngineNode, ...] | None
    """None when it was not asked about nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineUnheard:
    """The engine could not be asked."""

    problem: str


Answer = RequestAnswered | EngineSeen | EngineUnheard


class EngineCalls:
    """Asks one engine."""

    def __init__(
        self, engine: AllocationEngine, book: AllocationBook, leads: Callable[[], bool], ring: Callable[[], None]
    ) -> None:
        """`ring` is called on the engine's thread, whenever there is an answer."""
        self.engine = engine
        self._book = book
        self._leads = leads
        self._ring = ring
        self._asked: SimpleQueue[Callable[[], Answer | None] | None] = SimpleQueue()
        self._answers: deque[Answer] = deque()
        self._is_looking = False
        self._thread = threading.Thread(target=self._run, name=f"engine-{engine.name}", daemon=True)

    def start(self) -> None:
        """Begin to make calls."""
        self._thread.start()

    def close(self) -> None:
        """Make no more calls, once the present one has been answered."""
        self._asked.put(None)
        if self._thread.ident is not None:
            self._thread.join()
        self.engine.close()

    def submit(self, allocation: EngineAllocation, request: AllocationRequest) -> None:
        """Ask for an allocation, after it was written down."""
        self._asked.put(lambda: self._submit(allocation, request))

    def cancel(self, engine_id: str) -> None:
        """Have an allocation ended."""
        self._asked.put(lambda: self._cancel(engine_id))

    def look(self, *, with_nodes: bool) -> None:
        """Ask how everything is, unless the last such question was not answered yet."""
        if not self._is_looking:
            self._is_looking = True
            self._asked.put(lambda: self._look(with_nodes=with_nodes))

    def answers(self) -> list[Answer]:
        """What was answered since the last call."""
        return [self._answers.popleft() for _ in range(len(self._answers))]

    def _run(self) -> None:
        while (call := self._asked.get()) is not None:
            try:
                answer = call()
            except EngineSilent as silent:
                answer = EngineUnheard(problem=str(silent))
            except Exception as error:  # noqa: BLE001 - an answer that this code does not understand ends no thread
                _log.exception("an engine answered what is not understood", extra={"engine": self.engine.name})
                answer = EngineUnheard(problem=f"{type(error).__name__}: {error}")
            if answer is not None:
                self._answers.append(answer)
                self._ring()

    def _submit(self, allocation: EngineAllocation, request: AllocationRequest) -> RequestAnswered:
        if not self._leads():
            return RequestAnswered(allocation=allocation, problem="another control plane leads", is_refused=True)
        try:
            self._book.note(allocation)
            failpoint("submit.before")
            engine_id = self.engine.submit(request)
            failpoint("submit.after")
        except EngineSilent as silent:
            return RequestAnswered(allocation=allocation, problem=str(silent))
        except RequestRefused as refused:
            mistake = refused.is_mistake
            return RequestAnswered(allocation=allocation, problem=str(refused), is_refused=True, is_mistake=mistake)
        except OSError as error:
            return RequestAnswered(allocation=allocation, problem=str(error), is_refused=True)
        allocation.engine_id = engine_id
        try:
            self._book.note(allocation)
        except OSError as error:  # it is found by its id all the same
            _log.warning("the record of an allocation could not be completed", extra={"cause": str(error)})
        return RequestAnswered(allocation=allocation, engine_id=engine_id)

    def _cancel(self, engine_id: str) -> None:
        if self._leads():
            self.engine.cancel(engine_id)

    def _look(self, *, with_nodes: bool) -> EngineSeen:
        self._is_looking = False
        began_s = time.monotonic()
        seen = self.engine.look()
        return EngineSeen(began_s=began_s, seen=seen, nodes=self.engine.inventory() if with_nodes else None)
