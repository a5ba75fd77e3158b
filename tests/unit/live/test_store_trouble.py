"""A store that is full, hangs or is taken by another: people can read, are told, and nothing is acknowledged."""

from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest

from muster.engine.engine import Submitted
from muster.live import control_plane
from muster.live.configuration import Configuration
from muster.model.errors import Refused, Unavailable
from muster.model.events import Event as LogEvent
from muster.store.memory import MemoryLog
from tests.builders import a_cluster, a_job, a_node
from tests.unit.live.writer import DEADLINE_S, FullDisk, await_that, retried, running, submitted


def test_a_start_that_cannot_write_lets_people_read_and_goes_on_once_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    log = FullDisk()
    with running(log) as control:
        job = submitted(control)
    log.is_full = True
    more = Configuration(cluster=a_cluster(a_node("n1", gpus=8), a_node("n2", gpus=8)))
    with running(log, configuration=more) as control:
        assert "disk is full" in control.trouble
        assert list(control.view.nodes) == ["n1"]
        assert job in control.view.jobs
        with pytest.raises(Unavailable, match="disk is full"):
            submitted(control)
        log.is_full = False
        retried(control)
        assert list(control.view.nodes) == ["n1", "n2"]
        assert not control.trouble


class _Hanging(MemoryLog):
    """A store that answers only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = Event()
        self.answers.set()

    def append(self, events: Sequence[LogEvent], expected_version: int, **rest: Any) -> int:
        self.answers.wait(DEADLINE_S)
        return super().append(events, expected_version, **rest)


def test_a_store_that_hangs_is_told_while_the_writer_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "STORE_SILENCE_MS", 20)
    log = _Hanging()
    with running(log) as control:
        before = submitted(control)
        log.answers.clear()
        answer = control.ask(lambda engine, now_ms: engine.submit(a_job(), now_ms))
        await_that(lambda: "has not answered" in control.trouble)
        assert control.brief_trouble == "the store does not answer"
        with pytest.raises(Unavailable, match="has not answered"):
            submitted(control)
        assert before in control.state.jobs
        log.answers.set()
        assert isinstance(answer.result(DEADLINE_S), Submitted)
        assert not control.trouble


class _Taken(MemoryLog):
    """A store that another process writes to, for a while or for good."""

    looks_left = 0

    def check(self) -> None:
        if self.looks_left:
            self.looks_left -= 1
            raise Refused("the store is in use by process 7")


def test_a_writer_whose_lock_another_holds_for_good_steps_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    monkeypatch.setattr(control_plane, "STORE_LOOK_MS", 1)
    monkeypatch.setattr(control_plane, "STEP_DOWN_MS", 20)
    log, stepped_down = _Taken(), Event()
    with running(log, on_step_down=stepped_down.set) as control:
        job = submitted(control)
        log.looks_left = 1 << 30
        assert stepped_down.wait(DEADLINE_S)
        assert control.has_stopped
        assert "process 7" in str(control.led_by_another)
        with pytest.raises(Unavailable, match="process 7"):
            submitted(control)
        assert job in control.state.jobs


def test_a_writer_that_gets_its_lock_back_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "WRITE_RETRY_MS", 1)
    monkeypatch.setattr(control_plane, "STORE_LOOK_MS", 1)
    log = _Taken()
    with running(log) as control:
        log.looks_left = 5
        await_that(lambda: log.looks_left == 0 and not control.trouble)
        submitted(control)
        assert control.led_by_another is None
