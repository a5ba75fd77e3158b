"""What every event log must do, whatever it is kept in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.model.audit import AuditEntry
from muster.model.errors import Conflict
from muster.model.events import Event, HoldsSet, NodeLost, NodeReturned, TimerFired
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState
from muster.store.memory import MemoryLog
from muster.store.sql import open_store
from muster.store.sql.event_log import SqlEventLog
from tests.builders import a_job
from tests.postgres import Server

Log = MemoryLog | SqlEventLog
"""Every adapter keeps the log and hands it out in pages."""


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    if request.param == "memory":
        yield MemoryLog()
        return
    server: Server | None = request.getfixturevalue("postgres") if request.param == "postgres" else None
    url = f"sqlite:///{tmp_path}/muster.db" if server is None else server.new_url()
    with open_store(url, write=True) as store:
        yield store.log


def events(*times: int) -> list[Event]:
    return [TimerFired(at_ms=time, job=JobId("job-1")) for time in times]


def test_a_new_log_is_empty(log: Log) -> None:
    assert log.version == 0
    assert list(log.read()) == []


def test_what_was_appended_is_read_in_order(log: Log) -> None:
    assert log.append(events(1, 2), expected_version=0) == 2
    assert log.append(events(3), expected_version=2) == 3
    assert list(log.read()) == events(1, 2, 3)
    assert log.version == 3


def test_reading_can_begin_anywhere(log: Log) -> None:
    log.append(events(1, 2, 3), expected_version=0)
    assert list(log.read(2)) == events(3)
    assert list(log.read(3)) == []


def test_what_became_of_nodes_is_found_between_two_versions(log: Log) -> None:
    lost = [NodeLost(at_ms=at_ms, node=NodeName("n1"), because="no heartbeat") for at_ms in (1, 3, 5)]
    back = NodeReturned(at_ms=6, node=NodeName("n1"))
    mixed: list[Event] = [lost[0], *events(2), lost[1], HoldsSet(at_ms=4, holds=()), lost[2], back]
    log.append(mixed, expected_version=0)
    assert list(log.node_events_between(0, 6, 10)) == [(1, lost[0]), (3, lost[1]), (5, lost[2]), (6, back)]
    assert list(log.node_events_between(1, 5, 10)) == [(3, lost[1]), (5, lost[2])]
    assert list(log.node_events_between(0, 6, 1)) == [(1, lost[0])]
    assert list(log.node_events_between(3, 4, 10)) == []


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_an_append_that_expects_another_version_writes_nothing(log: Log, expected: int) -> None:
    log.append(events(1, 2), expected_version=0)
    with pytest.raises(Conflict, match="version 2"):
        log.append(events(9), expected_version=expected)
    assert list(log.read()) == events(1, 2)


def test_appending_nothing_changes_nothing(log: Log) -> None:
    log.append(events(1), expected_version=0)
    assert log.append([], expected_version=1) == 1
    with pytest.raises(Conflict):
        log.append([], expected_version=0)


def test_a_log_does_not_change_with_the_list_it_was_given(log: Log) -> None:
    batch = events(1)
    log.append(batch, expected_version=0)
    batch.append(events(2)[0])
    assert list(log.read()) == events(1)


def test_records_and_audit_need_no_events(log: Log) -> None:
    job = Job(id=JobId("job-1"), spec=a_job(), state=JobState.QUEUED, submitted_ms=1)
    entry = AuditEntry(at_ms=1, by="ann", action="jobs.see", subject="job-1")
    assert log.append([], expected_version=0, jobs=[job], audit=[entry]) == 0
    assert log.append(events(1), expected_version=0, jobs=[job, job], audit=[entry, entry]) == 1
    with pytest.raises(Conflict):
        log.append([], expected_version=0, audit=[entry])
    assert log.version == 1


def test_pages_say_which_version_each_event_has(log: Log) -> None:
    log.append(events(1, 2, 3), expected_version=0)
    one, two, three = events(1, 2, 3)
    assert list(log.events_after(0, 2)) == [(1, one), (2, two)]
    assert list(log.events_after(2, 2)) == [(3, three)]
    assert list(log.events_after(3, 2)) == []
    assert list(log.events_after(9, 2)) == []


def test_a_page_can_be_of_one_job(log: Log) -> None:
    mine, other = JobId("job-1"), JobId("job-2")
    written: list[Event] = [
        TimerFired(at_ms=1, job=other),
        TimerFired(at_ms=2, job=mine),
        HoldsSet(at_ms=3, holds=()),
        TimerFired(at_ms=4, job=other),
        TimerFired(at_ms=5, job=mine),
    ]
    log.append(written, expected_version=0)
    assert list(log.events_after(0, 10, mine)) == [(2, written[1]), (5, written[4])]
    assert list(log.events_after(0, 1, mine)) == [(2, written[1])]
    assert list(log.events_after(2, 10, mine)) == [(5, written[4])]
    assert list(log.events_after(0, 10, JobId("job"))) == []


def test_a_long_log_is_read_whole_and_in_order(log: Log) -> None:
    many = events(*range(5_000))
    log.append(many, expected_version=0)
    assert list(log.read()) == many
    assert list(log.read(4_500)) == many[4_500:]


def test_what_is_appended_while_reading_is_not_out_of_order(log: Log) -> None:
    log.append(events(1, 2), expected_version=0)
    reading = log.read()
    first = next(reading)
    log.append(events(3), expected_version=2)
    seen = [first, *reading]
    assert seen in (events(1, 2), events(1, 2, 3))
