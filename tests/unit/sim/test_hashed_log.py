import pytest

from muster.model.errors import Conflict
from muster.model.events import Event, TimerFired
from muster.model.ids import JobId
from muster.model.requests import JobHeld
from muster.sim import hashed_log
from muster.sim.hashed_log import HashedLog


def timers(count: int) -> list[Event]:
    return [TimerFired(at_ms=at_ms, job=JobId("a")) for at_ms in range(count)]


def test_the_hash_says_whether_two_logs_are_the_same() -> None:
    one, two, other = HashedLog(), HashedLog(), HashedLog()
    one.append(timers(3), 0)
    two.append(timers(2), 0)
    assert two.append(timers(3)[2:], 2) == 3
    other.append([*timers(2), JobHeld(at_ms=2, job=JobId("a"))], 0)
    assert one.hash == two.hash != other.hash


def test_a_writer_that_is_behind_is_told() -> None:
    log = HashedLog()
    log.append(timers(1), 0)
    with pytest.raises(Conflict):
        log.append(timers(1), 0)


def test_only_the_tail_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashed_log, "TAIL", 3)
    log = HashedLog()
    log.append(timers(5), 0)
    assert [event.at_ms for event in log.read()] == [2, 3, 4]
    assert [event.at_ms for event in log.read(4)] == [4]
    assert log.version == 5
