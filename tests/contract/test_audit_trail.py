"""What every audit trail must do."""

import pytest

from muster.model.audit import AuditEntry
from muster.model.errors import Conflict
from muster.model.events import TimerFired
from muster.model.ids import JobId
from muster.store.base import AuditFilter
from muster.store.sql import SqlStore


def an_entry(at_ms: int = 1, **fields: str) -> AuditEntry:
    told = {"by": "ann", "action": "jobs.change", "subject": "job-1", **fields}
    return AuditEntry(at_ms=at_ms, detail=(("priority", "90"), ("was", "50 → ü")), reason="deadline", **told)


def test_entries_are_read_as_they_were_written_with_the_version_they_caused(store: SqlStore) -> None:
    first, second, third = an_entry(1), an_entry(2), an_entry(3)
    store.log.append([TimerFired(at_ms=1, job=JobId("job-1"))], expected_version=0, audit=[first, second])
    store.log.append([], expected_version=1, audit=[third])
    records = store.audit.entries(0, 10)
    assert [(each.seq, each.entry, each.version) for each in records] == [(1, first, 1), (2, second, 1), (3, third, 1)]
    assert len({each.chain for each in records}) == 3


def test_entries_come_in_pages(store: SqlStore) -> None:
    store.log.append([], expected_version=0, audit=[an_entry(each) for each in range(5)])
    assert [each.seq for each in store.audit.entries(0, 2)] == [1, 2]
    assert [each.seq for each in store.audit.entries(2, 2)] == [3, 4]
    assert [each.seq for each in store.audit.entries(5, 2)] == []


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (AuditFilter(by="ben"), [2]),
        (AuditFilter(action="nodes.change"), [3]),
        (AuditFilter(subject="n1"), [3]),
        (AuditFilter(by="ann", action="jobs.change"), [1]),
        (AuditFilter(by="nobody"), []),
        (AuditFilter(since_ms=2), [2, 3]),
        (AuditFilter(until_ms=3), [1, 2]),
        (AuditFilter(since_ms=2, until_ms=3), [2]),
    ],
)
def test_entries_can_be_chosen(store: SqlStore, filters: AuditFilter, expected: list[int]) -> None:
    entries = [an_entry(1), an_entry(2, by="ben"), an_entry(3, action="nodes.change", subject="n1")]
    store.log.append([], expected_version=0, audit=entries)
    assert [each.seq for each in store.audit.entries(0, 10, filters)] == expected
    assert [each.seq for each in store.audit.latest(None, 10, filters)] == expected[::-1]


def test_the_latest_entries_come_in_pages_too(store: SqlStore) -> None:
    store.log.append([], expected_version=0, audit=[an_entry(each) for each in range(5)])
    assert [each.seq for each in store.audit.latest(None, 2)] == [5, 4]
    assert [each.seq for each in store.audit.latest(4, 2)] == [3, 2]
    assert [each.seq for each in store.audit.latest(1, 2)] == []


def test_entries_of_an_append_that_was_refused_are_not_there(store: SqlStore) -> None:
    with pytest.raises(Conflict):
        store.log.append([], expected_version=7, audit=[an_entry()])
    assert store.audit.entries(0, 10) == []


def test_text_that_no_database_keeps_does_not_stop_an_append(store: SqlStore) -> None:
    entry = AuditEntry(at_ms=1, by="a\0b", action="x", subject="y", detail=(("k\ud800", "\0"),), reason="\udfff")
    store.log.append([], expected_version=0, audit=[entry])
    (kept,) = store.audit.entries(0, 10)
    assert (kept.entry.by, kept.entry.detail, kept.entry.reason) == ("a\ufffdb", (("k?", "\ufffd"),), "?")


def test_an_untouched_store_is_whole(store: SqlStore) -> None:
    assert store.audit.verify().is_whole
    store.log.append([TimerFired(at_ms=1, job=JobId("job-1"))], expected_version=0, audit=[an_entry(), an_entry()])
    verdict = store.audit.verify()
    assert verdict.is_whole
    assert (verdict.events, verdict.entries) == (1, 2)


def test_the_head_is_where_the_audit_ends_and_earlier_ones_are_found_again(store: SqlStore) -> None:
    assert (store.audit.head().seq, store.audit.head().chain) == (0, "00" * 32)
    store.log.append([], expected_version=0, audit=[an_entry(1)])
    noted = store.audit.head()
    store.log.append([], expected_version=0, audit=[an_entry(2)])
    (first, second) = store.audit.entries(0, 10)
    assert (noted.seq, noted.chain) == (1, first.chain)
    assert (store.audit.head().seq, store.audit.head().chain) == (2, second.chain)
    assert [store.audit.chain_at(seq) for seq in (0, 1, 2, 3)] == ["00" * 32, first.chain, second.chain, None]
