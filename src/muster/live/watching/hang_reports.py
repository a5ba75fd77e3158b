"""From a job that stands still to the event that says so, with the stacks of its ranks.

The stacks are captured first, on another thread, because whatever is done about a hang ends the processes. A process
that stands still may not answer, so nothing waits for its stack for long.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from muster.core.stragglers.hangs import blamed
from muster.live.watching.stack_files import STACKS_S
from muster.model.events import HangFound, HangOver
from muster.model.ids import JobId, NodeName
from muster.model.job import Job
from muster.model.telemetry import Hang

SAID_AGAIN_MS = 10_000
"""When a verdict is reported again that is not in the record of the job yet."""

CAPTURES = 4
"""Jobs whose stacks are captured at the same time."""

_log = logging.getLogger("muster.live")

Stacks = Mapping[int, str]


@dataclass(slots=True)
class _Case:
    """One job that stands still, or did until now."""

    attempt: int
    capture: "Future[Stacks] | None" = None
    captured_by_ms: int = 0
    said_ms: int | None = None

    def may_say(self, now_ms: int) -> bool:
        """True when nothing was said a moment ago."""
        if self.said_ms is not None and now_ms - self.said_ms < SAID_AGAIN_MS:
            return False
        self.said_ms = now_ms
        return True


class HangReports:
    """Reports what differs from the records of jobs."""

    def __init__(self, *, stacks: Callable[[JobId, float], Stacks], keep: Callable[[JobId, int, Stacks], str]) -> None:
        """`stacks` captures those of all ranks of a job within a time; `keep` writes them and says where."""
        self._capture = stacks
        self._keep = keep
        self._threads = ThreadPoolExecutor(CAPTURES, thread_name_prefix="stacks")
        self._cases: dict[JobId, _Case] = {}

    def close(self) -> None:
        """Capture no more stacks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def forget(self, job: JobId) -> None:
        """The attempt is over."""
        self._cases.pop(job, None)

    def report(
        self, job: Job, hang: Hang | None, nodes: Mapping[int, NodeName], now_ms: int
    ) -> HangFound | HangOver | None:
        """What is to be written about a job, given what is found now. `nodes` says where its ranks are."""
        if (hang is None) == (job.hang is None) and job.id not in self._cases:
            return None
        case = self._cases.get(job.id)
        if case is None or case.attempt != job.attempt:
            case = self._cases[job.id] = _Case(job.attempt)
        if hang is None:
            case.capture = None
            if job.hang is None:
                self.forget(job.id)
            elif case.may_say(now_ms):
                return HangOver(at_ms=now_ms, job=job.id, attempt=job.attempt)
            return None
        return None if job.hang is not None else self._found(case, job, hang, nodes, now_ms)

    def _found(self, case: _Case, job: Job, hang: Hang, nodes: Mapping[int, NodeName], now_ms: int) -> HangFound | None:
        """The event, once stacks are captured or cannot be."""
        if case.capture is None:
            case.capture = self._threads.submit(self._capture, job.id, STACKS_S)
            case.captured_by_ms = now_ms + 2 * int(STACKS_S * 1000)
        if not (case.capture.done() or now_ms >= case.captured_by_ms) or not case.may_say(now_ms):
            return None
        stacks = _captured(case.capture, job)
        return HangFound(
            at_ms=now_ms,
            job=job.id,
            attempt=job.attempt,
            hang=blamed(hang, stacks, nodes),
            stacks=self._kept(job, stacks),
        )

    def _kept(self, job: Job, stacks: Stacks) -> str:
        try:
            return self._keep(job.id, job.attempt, stacks) if stacks else ""
        except OSError as error:
            _log.warning("stacks could not be kept", extra={"job": job.id, "cause": str(error)})
            return ""


def _captured(capture: "Future[Stacks]", job: Job) -> Stacks:
    """The stacks, or nothing if they could not be captured in time."""
    if not capture.done():
        capture.cancel()
        return {}
    error = None if capture.cancelled() else capture.exception()
    if error is not None:
        _log.warning("stacks could not be captured", extra={"job": job.id, "cause": str(error)})
    return {} if error is not None or capture.cancelled() else capture.result()
