"""What every event log must do, whatever it is kept in."""

from collections.abc import Callable

import pytest

from muster.model.errors import Conflict
from muster.model.events import Event, TimerFired
from muster.model.ids import JobId
from muster.store.base import EventLog
from muster.store.memory import MemoryLog

ADAPTERS: dict[str, Callable[[], EventLog]] = {"memory": MemoryLog}


@pytest.fixture(params=sorted(ADAPTERS))
def log(request: pytest.FixtureRequest) -> EventLog:
    return ADAPTERS[request.param]()


def events(*times: int) -> list[Event]:
    return [TimerFired(at_ms=time, job=JobId("job-1")) for time in times]


def test_a_new_log_is_empty(log: EventLog) -> None:
    assert log.version == 0
    assert list(log.read()) == []


def test_what_was_appended_is_read_in_order(log: EventLog) -> None:
    assert log.append(events(1, 2), expected_version=0) == 2
    assert log.append(events(3), expected_version=2) == 3
    assert list(log.read()) == events(1, 2, 3)
    assert log.version == 3


def test_reading_can_begin_anywhere(log: EventLog) -> None:
    log.append(events(1, 2, 3), expected_version=0)
    assert list(log.read(2)) == events(3)
    assert list(log.read(3)) == []


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_who_expects_another_version_writes_nothing(log: EventLog, expected: int) -> None:
    log.append(events(1, 2), expected_version=0)
    with pytest.raises(Conflict, match="version 2"):
        log.append(events(9), expected_version=expected)
    assert list(log.read()) == events(1, 2)


def test_appending_nothing_changes_nothing(log: EventLog) -> None:
    log.append(events(1), expected_version=0)
    assert log.append([], expected_version=1) == 1
    with pytest.raises(Conflict):
        log.append([], expected_version=0)


def test_a_log_does_not_change_with_the_list_it_was_given(log: EventLog) -> None:
    batch = events(1)
    log.append(batch, expected_version=0)
    batch.append(events(2)[0])
    assert list(log.read()) == events(1)
