"""A writer's thread on a log in memory, and ways to ask it for something."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from muster.backends.fake import FakeBackend
from muster.engine.engine import Submitted
from muster.live.configuration import Configuration
from muster.live.control_plane import ControlPlane
from muster.model.array import JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Unavailable
from muster.model.events import Event as LogEvent
from muster.model.ids import JobId
from muster.model.spec import JobSpec
from muster.store.memory import MemoryLog, MemoryStates
from tests.builders import a_cluster, a_job, a_node

DEADLINE_S = 10


class StepClock:
    def __init__(self) -> None:
        self._now_ms = 1_000

    def now_ms(self) -> int:
        self._now_ms += 1
        return self._now_ms

    def not_before(self, at_ms: int) -> None:
        self._now_ms = max(self._now_ms, at_ms)

    def from_wall(self, at_ms: int) -> int:
        return at_ms


class FullDisk(MemoryLog):
    """A store that cannot write while it is full."""

    is_full = False

    def append(
        self,
        events: Sequence[LogEvent],
        expected_version: int,
        *,
        jobs: Sequence[JobRecord] = (),
        audit: Sequence[AuditEntry] = (),
    ) -> int:
        if self.is_full:
            raise Unavailable("the disk is full")
        return super().append(events, expected_version, jobs=jobs, audit=audit)


@contextmanager
def running(log: MemoryLog | None = None, states: MemoryStates | None = None, **fields: Any) -> Iterator[ControlPlane]:
    configuration = fields.pop("configuration", None) or Configuration(cluster=a_cluster(a_node("n1", gpus=8)))
    kept = log or MemoryLog()
    control = ControlPlane(
        log=kept,
        states=states or MemoryStates(),
        archive=kept,
        backend=fields.pop("backend", None) or FakeBackend(),
        clock=fields.pop("clock", None) or StepClock(),
        configuration=configuration,
        **fields,
    )
    control.start()
    try:
        yield control
    finally:
        control.stop()


def submitted(control: ControlPlane, spec: JobSpec | None = None) -> JobId:
    answer = control.ask(lambda engine, now_ms: engine.submit(spec or a_job(), now_ms)).result(DEADLINE_S)
    assert isinstance(answer, Submitted)
    return answer.job


def retried(control: ControlPlane) -> JobId:
    """Submit until it is taken: the writer needs a moment to start again."""
    for _ in range(1_000):
        try:
            return submitted(control, a_job("again"))
        except Unavailable:
            continue
    raise AssertionError("the writer did not come back")


def await_that(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < end_s, "it never came to pass"
