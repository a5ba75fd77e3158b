"""Nodes are told whether a control plane decides: not before all were heard, and not while nothing can be written."""

import pytest

from muster.backends.fake import FakeBackend
from muster.live import control_plane
from muster.model.errors import Unavailable
from tests.unit.live.test_catching_up import _Late
from tests.unit.live.writer import FullDisk, await_that, retried, running, submitted


class _Told(FakeBackend):
    """Counts how often it was told."""

    decisions = 0

    def decided(self) -> None:
        self.decisions += 1


class _LateAndTold(_Late, _Told):
    pass


def test_a_writer_tells_nodes_in_every_round_that_it_decides() -> None:
    backend = _Told()
    with running(backend=backend) as control:
        submitted(control)
        await_that(lambda: backend.decisions > 1)


def test_a_writer_that_still_listens_does_not_say_that_it_decides() -> None:
    backend = _LateAndTold()
    with running(backend=backend) as control:
        submitted(control)
        assert backend.decisions == 0
        backend.is_heard_out = True
        control.nudge()
        await_that(lambda: backend.decisions > 0)


def test_a_writer_that_cannot_write_does_not_say_that_it_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 10)
    backend, log = _Told(), FullDisk()
    with running(log, backend=backend) as control:
        submitted(control)
        log.is_full = True
        with pytest.raises(Unavailable):
            submitted(control)
        before = backend.decisions
        for _ in range(3):
            with pytest.raises(Unavailable):
                submitted(control)
        assert backend.decisions == before
        log.is_full = False
        retried(control)
        await_that(lambda: backend.decisions > before)
