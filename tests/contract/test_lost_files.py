"""A SQLite file that is taken away while it is open: nothing is acknowledged that the next to open it would miss."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from muster.model.errors import Corrupted, Refused, Unavailable
from muster.model.events import Event, TimerFired
from muster.model.ids import JobId
from muster.store.sql import SqlStore, open_store

EVENTS: list[Event] = [TimerFired(at_ms=1, job=JobId("job-1"))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "muster.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqlStore]:
    """A store in a file, with one event in it."""
    with open_store(f"sqlite:///{path}", write=True) as opened:
        opened.log.append(EVENTS, 0)
        opened.log.check()
        yield opened


def reopened_version(path: Path) -> int:
    with open_store(f"sqlite:///{path}", write=True) as again:
        return again.log.version


def test_a_file_that_was_moved_is_noticed_and_used_again_once_it_is_back(store: SqlStore, path: Path) -> None:
    away = path.rename(path.with_name("away.db"))
    for attempt in (store.log.check, lambda: store.log.append(EVENTS, 1)):
        with pytest.raises(Unavailable, match=r"moved or deleted.*Move it back") as refused:
            attempt()
        assert refused.value.brief == "the database file was moved or deleted"
    assert not path.exists()
    away.rename(path)
    assert store.log.append(EVENTS, 1) == 2
    store.close()
    assert reopened_version(path) == 2


def test_what_was_open_can_be_read_while_the_file_is_away(store: SqlStore, path: Path) -> None:
    path.rename(path.with_name("away.db"))
    assert list(store.log.read()) == EVENTS
    assert not path.exists()


def test_a_file_in_its_place_is_not_written_even_if_it_is_a_copy(store: SqlStore, path: Path) -> None:
    copy = path.read_bytes()
    path.rename(path.with_name("away.db"))
    path.write_bytes(copy)
    for attempt in (store.log.check, lambda: store.log.append(EVENTS, 1)):
        with pytest.raises(Unavailable, match="another file lies in its place"):
            attempt()
    assert path.read_bytes() == copy


def test_what_goes_into_a_file_that_is_moved_meanwhile_is_not_acknowledged(
    store: SqlStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "muster.store.sql.database.failpoint",
        lambda name: path.rename(path.with_name("away.db")) if name == "append.before-commit" else None,
    )
    with pytest.raises(Unavailable, match="moved or deleted"):
        store.log.append(EVENTS, 1)


def test_a_file_that_was_cut_is_noticed(store: SqlStore, path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint")  # what is in the journal is put into the file
    store.log.check()
    os.truncate(path, 4096)
    for attempt in (store.log.check, lambda: store.log.append(EVENTS, 1)):
        with pytest.raises(Corrupted, match=r"was cut from \d+ to 4096 bytes"):
            attempt()


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_journal_that_was_deleted_is_noticed_and_nothing_in_it_is_lost(
    store: SqlStore, path: Path, is_replaced: bool
) -> None:
    journal = path.with_name("muster.db-wal")
    journal.unlink()
    if is_replaced:
        journal.touch()
    for attempt in (store.log.check, lambda: store.log.append(EVENTS, 1)):
        with pytest.raises(Corrupted, match=r"journal .* was deleted or replaced; stop the server"):
            attempt()
    store.close()
    assert reopened_version(path) == 1


def test_a_lock_that_was_removed_is_noticed(store: SqlStore, path: Path) -> None:
    path.with_name("muster.db.lock").unlink()
    with pytest.raises(Refused, match="its lock was removed"):
        store.log.check()
