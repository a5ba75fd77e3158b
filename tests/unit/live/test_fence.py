"""The end of what nodes ran that others have replaced: recorded once, before anything is sent to the others."""

import pytest

from muster.backends.fake import FakeBackend
from muster.live import control_plane
from muster.live.configuration import Configuration, Fence
from muster.model.errors import Unavailable
from muster.model.events import NodeLost
from muster.model.instructions import Command, StartWorkers
from muster.store.memory import MemoryLog
from tests.builders import a_cluster, a_node
from tests.unit.live.writer import await_that, running, submitted

CLUSTER = a_cluster(a_node("n1", gpus=8))


class _Noting(FakeBackend):
    def __init__(self, notes: list[str]) -> None:
        super().__init__()
        self._notes = notes

    def send(self, command: Command) -> None:
        if isinstance(command, StartWorkers):
            self._notes.append(f"attempt {command.attempt}")
        super().send(command)


def losses(log: MemoryLog) -> int:
    return sum(isinstance(event, NodeLost) for event in log.read())


@pytest.mark.parametrize("fails", [0, 2], ids=["at once", "after trouble"])
def test_a_fence_is_recorded_and_forgotten_before_anything_is_started(
    fails: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log, notes, left = MemoryLog(), list[str](), [fails]
    with running(log, configuration=Configuration(cluster=CLUSTER)) as control:
        submitted(control)
        await_that(lambda: bool(control.state.occupying))

    def forget() -> None:
        if left[0]:
            left[0] -= 1
            raise Unavailable("the disk is full")
        assert losses(log)
        notes.append("forgotten")

    fence = Fence(on_recorded=forget)
    with running(log, configuration=Configuration(cluster=CLUSTER, fence=fence), backend=_Noting(notes)) as control:
        await_that(lambda: len(notes) > 1)
    assert notes == ["forgotten", "attempt 2"]
