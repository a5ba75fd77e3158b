"""Rows that were changed behind Muster's back are found when they are read, and by the walk through everything."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from muster.model.errors import Corrupted
from muster.model.ids import JobId, TokenId
from muster.store.base import AuditFilter, JobFilter
from muster.store.sql import SqlStore, open_store
from tests.crash.contents import JOBS, PAGE, fill

LAST = JOBS[-1]

CHANGES: dict[str, tuple[str, Callable[[SqlStore], object]]] = {
    "an event is changed": (
        "UPDATE events SET body = (SELECT body FROM events WHERE version = 2) WHERE version = 8",
        lambda store: list(store.log.read()),
    ),
    "an event is another kind": (
        "UPDATE events SET kind = 'JobHeld' WHERE version = 4",
        lambda store: list(store.log.read()),
    ),
    "an event happened at another time": (
        "UPDATE events SET at_ms = at_ms + 1 WHERE version = 4",
        lambda store: store.log.events_after(3, 1),
    ),
    "an event is another job's": (
        f"UPDATE events SET job = '{LAST}' WHERE version = 4",
        lambda store: store.log.events_after(0, PAGE, LAST),
    ),
    "an event is missing": ("DELETE FROM events WHERE version = 4", lambda store: list(store.log.read(2))),
    "an event is where reading begins and missing": (
        "DELETE FROM events WHERE version = 4",
        lambda store: store.log.events_after(4, 1),
    ),
    "an entry is changed": (
        "UPDATE audit SET \"by\" = 'ben' WHERE seq = 3",
        lambda store: store.audit.entries(0, PAGE, AuditFilter(by="ben")),
    ),
    "an entry is missing": ("DELETE FROM audit WHERE seq = 3", lambda store: store.audit.entries(0, PAGE)),
    "a job is in another state": (
        f"UPDATE jobs SET state = 'failed' WHERE id = '{LAST}'",
        lambda store: store.jobs.find([LAST]),
    ),
    "a job is another team's": (
        f"UPDATE jobs SET team = 'nlp' WHERE id = '{LAST}'",
        lambda store: store.jobs.page(JobFilter(), limit=PAGE),
    ),
    "a token has another secret": (
        "UPDATE tokens SET secret_digest = 'mine' WHERE id = 't1'",
        lambda store: store.tokens.find("mine"),
    ),
    "a token is valid again": (
        "UPDATE tokens SET revoked_ms = NULL WHERE id = 't2'",
        lambda store: store.tokens.all(),
    ),
}


@pytest.fixture
def full(url: str) -> str:
    fill(url)
    with open_store(url, write=True) as store:
        store.tokens.revoke(TokenId("t2"), 5)
    return url


def change(store: SqlStore, statement: str) -> None:
    with store._database.writing("change") as connection:
        assert connection.execute(text(statement)).rowcount == 1


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_row_is_found(full: str, what: str) -> None:
    statement, read = CHANGES[what]
    with open_store(full, write=True) as store:
        change(store, statement)
        with pytest.raises(Corrupted, match="restore"):
            read(store)
        verdict = store.audit.verify()
    assert not verdict.is_whole
    assert len(verdict.problems) == 1


def test_the_verdict_names_the_first_broken_rows(full: str) -> None:
    with open_store(full, write=True) as store:
        change(store, "UPDATE events SET at_ms = 7 WHERE version = 9")
        change(store, "DELETE FROM audit WHERE seq = 4")
        verdict = store.audit.verify()
    assert (verdict.broken_version, verdict.events) == (9, 8)
    assert (verdict.broken_seq, verdict.entries) == (4, 3)


@pytest.mark.parametrize("table", ["events", "audit"])
def test_a_chain_that_lost_its_end_is_not_opened(full: str, table: str) -> None:
    number = "version" if table == "events" else "seq"
    with open_store(full, write=True) as store:
        change(store, f"DELETE FROM {table} WHERE {number} = (SELECT max({number}) FROM {table})")
        assert not store.audit.verify().is_whole
    with pytest.raises(Corrupted, match="should end with"):
        open_store(full, write=True)


def test_a_changed_state_is_passed_over_and_told_by_the_walk(full: str) -> None:
    with open_store(full, write=True) as store:
        assert store.states.load_state("new") is not None
        change(store, "UPDATE states SET body = (SELECT chain FROM head) WHERE layout = 'new'")
        assert store.states.load_state("new") is None
        assert store.states.load_state("old") is not None
        assert "state saved at version" in store.audit.verify().problems[0]


def test_a_state_of_another_log_is_passed_over(full: str) -> None:
    with open_store(full, write=True) as store:
        change(
            store, "UPDATE events SET chain = (SELECT audit_chain FROM head) WHERE version = (SELECT version FROM head)"
        )
        assert store.states.load_state("new") is None


def test_a_job_that_is_not_there_is_not_damage(full: str) -> None:
    with open_store(full, write=False) as store:
        assert store.jobs.find([JobId("nobody")]) == {}
