"""Questions where the processes of a job are: asked on any thread, sent and answered on the backend's own."""

import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from muster.model.ids import JobId, NodeName
from muster.model.limits import NODES_PER_CLUSTER
from muster.worker.service import Message

UNASKED_MOST = NODES_PER_CLUSTER
"""Nodes that wait to be asked: all of the largest cluster. More come only when the backend has stopped."""


@dataclass(slots=True, kw_only=True)
class _Question:
    """One question, and what was answered so far."""

    number: int
    job: JobId
    waiting: set[NodeName]
    texts: dict[int, str] = field(default_factory=dict)


class StackQuestions:
    """All questions that are not answered yet."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._number = 0
        self._open: dict[int, _Question] = {}
        self._unasked: deque[tuple[NodeName, Message]] = deque(maxlen=UNASKED_MOST)

    def ask(self, job: JobId, nodes: Iterable[NodeName]) -> int:
        """Ask these nodes. Returns the number of the question."""
        with self._news:
            self._number += 1
            question = _Question(number=self._number, job=job, waiting=set(nodes))
            self._open[question.number] = question
            for node in sorted(question.waiting):
                self._unasked.append((node, {"job": job, "number": question.number}))
            return question.number

    def unasked(self) -> list[tuple[NodeName, Message]]:
        """Take what is to be sent."""
        with self._news:
            return [self._unasked.popleft() for _ in range(len(self._unasked))]

    def answered(self, node: NodeName, number: int, texts: list[object]) -> None:
        """A node has answered. What is not as it must be is left out."""
        with self._news:
            question = self._open.get(number)
            if question is None:
                return
            question.waiting.discard(node)
            for each in texts:
                match each:
                    case [int(rank), str(text)]:
                        question.texts[rank] = text
                    case _:
                        pass
            self._news.notify_all()

    def answer(self, number: int, timeout_s: float) -> dict[int, str]:
        """Wait until all nodes have answered, or the time is over. Returns the stacks by rank."""
        give_up_s = time.monotonic() + timeout_s
        with self._news:
            question = self._open[number]
            self._news.wait_for(lambda: not question.waiting, max(give_up_s - time.monotonic(), 0))
            del self._open[number]
            return dict(sorted(question.texts.items()))
