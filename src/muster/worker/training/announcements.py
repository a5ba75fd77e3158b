"""Shows announcements of the control plane on the boards of a gang, and answers with the steps of its ranks.

What a control plane sends                           what it receives
    {"announce": {"job", "attempt", "number",           {"announced": {"job", "attempt", "number", "ranks"}}; ranks are
     "kind", "step", "every"}}                           [rank, world, step, board, closed], read a moment later
    {"decide": {"job", "attempt", "number", "kept"}}    nothing
    {"hasten": {"job", "attempt"}}                      nothing: workers that were told to leave are signalled
"""

from collections.abc import Callable, Iterable
from typing import Any

from muster.model.ids import JobId
from muster.train.board import CLOSED, LEAVE, LEFT, SAVE
from muster.worker.loop import Loop
from muster.worker.messages import BadMessage
from muster.worker.notices import COUNT_MOST
from muster.worker.service import Message
from muster.worker.training.training_worker import TrainingWorker

WorkersOf = Callable[[JobId, int], Iterable[tuple[str, TrainingWorker]]]
"""The workers of one attempt of a job on this node, by token."""

SHOWN_MS = 5
"""How long after an announcement was written the steps are read: then each process has either seen it before its next
step, or shows that step."""


class Announcements:
    """What is announced on this node."""

    def __init__(self, workers_of: WorkersOf, loop: Loop) -> None:
        self._of = workers_of
        self._loop = loop
        self._leaving: dict[JobId, tuple[int, int]] = {}
        """By job, attempt and number of the newest announcement to leave, until it is decided."""
        self._agreed: dict[JobId, int] = {}
        """By job, the attempt whose ranks have agreed to leave."""

    def has_agreed(self, job: JobId, attempt: int) -> bool:
        """True when the ranks of an attempt have agreed to leave, and do so by themselves."""
        return self._agreed.get(job) == attempt

    def announce(self, body: dict[str, Any], answer: Callable[[Message], None]) -> None:
        """Show an announcement, and answer in a moment."""
        match body:
            case {"job": str(job), "attempt": int(attempt), "number": int(number), "kind": int(kind)}:
                step, every = int(body.get("step", 0)), int(body.get("every", 0))
            case _:
                raise BadMessage("not an announcement")
        if kind not in (SAVE, LEAVE) or min(step, every, number) < 0 or max(step, every) > COUNT_MOST:
            raise BadMessage("not an announcement")
        for _, worker in self._of(JobId(job), attempt):
            if kind == LEAVE:
                self._leaving[JobId(job)] = (attempt, number)
            worker.boards.announce(number, step, kind, every)
        self._loop.after(SHOWN_MS, lambda: answer({"announced": self._steps(JobId(job), attempt, number)}))

    def decide(self, body: dict[str, Any]) -> None:
        """Commit or cancel an announcement."""
        match body:
            case {"job": str(name), "attempt": int(attempt), "number": int(number), "kept": bool(is_kept)}:
                job = JobId(name)
            case _:
                raise BadMessage("not a decision")
        for _, worker in self._of(job, attempt):
            worker.boards.decide(number, is_kept)
        if self._leaving.get(job) == (attempt, number):
            del self._leaving[job]
            if is_kept:
                self._agreed[job] = attempt

    def forget(self, job: JobId) -> None:
        """The job has no workers here any more."""
        self._leaving.pop(job, None)
        self._agreed.pop(job, None)

    def _steps(self, job: JobId, attempt: int, number: int) -> Message:
        ranks = [
            [state.rank, state.world, state.step, state.board, bool(state.flags & (CLOSED | LEFT))]
            for _, worker in self._of(job, attempt)
            for _, state in worker.boards.states()
        ]
        return {"job": job, "attempt": attempt, "number": number, "ranks": ranks}
