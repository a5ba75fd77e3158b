"""How a store is opened: by one writer, by any number of readers, and never by a Muster that is too old for it."""

from pathlib import Path

import pytest
from sqlalchemy import text

from muster.model.errors import Conflict, Corrupted, InvalidInput, NotFound, Refused, TooNew, Unavailable
from muster.model.events import Event, TimerFired
from muster.model.ids import JobId
from muster.store.sql import SqlStore, open_store
from muster.store.sql.schema import VERSION_TABLE
from tests.postgres import Server

EVENTS: list[Event] = [TimerFired(at_ms=1, job=JobId("job-1"))]


def change(store: SqlStore, *statements: str) -> None:
    """What another process does to the database."""
    with store._database.writing("change") as connection:
        for statement in statements:
            connection.execute(text(statement))


def test_what_was_written_is_there_when_it_is_opened_again(url: str) -> None:
    with open_store(url, write=True) as store:
        store.log.append(EVENTS, 0)
    with open_store(url, write=True) as store:
        assert list(store.log.read()) == EVENTS
        assert store.log.append(EVENTS, 1) == 2


def test_there_is_one_writer(store: SqlStore, url: str) -> None:
    with pytest.raises(Refused, match=r"in use by .*process \d+.*end that one first"):
        open_store(url, write=True)
    store.close()
    open_store(url, write=True).close()


def test_a_reader_sees_what_the_writer_writes_and_cannot_write(store: SqlStore, url: str) -> None:
    with open_store(url, write=False) as reader:
        assert reader.log.version == 0
        store.log.append(EVENTS, 0)
        assert list(reader.log.read()) == EVENTS
        with pytest.raises(Refused, match="reading only"):
            reader.log.append(EVENTS, 1)
        with pytest.raises(Refused, match="reading only"):
            reader.states.save_state(1, "layout", b"")


def test_a_closed_store_cannot_be_written(store: SqlStore) -> None:
    store.close()
    with pytest.raises(Refused):
        store.log.append(EVENTS, 0)


def test_two_writers_that_slip_past_the_lock_do_not_write_over_each_other(store: SqlStore) -> None:
    store.log.append(EVENTS, 0)
    change(store, "UPDATE head SET version = 5")
    with pytest.raises(Conflict, match="version 5"):
        store.log.append(EVENTS, 1)


@pytest.mark.parametrize("write", [True, False])
def test_a_store_of_a_newer_muster_is_refused(url: str, write: bool) -> None:
    with open_store(url, write=True) as store:
        change(
            store,
            f"UPDATE {VERSION_TABLE} SET version_num = 'r9999'",
            "UPDATE schema_compatibility SET oldest = 'r9999'",
        )
    with pytest.raises(TooNew, match=r"'r9999'.*use the newer Muster"):
        open_store(url, write=write)


def test_a_reader_does_not_bring_a_store_up_to_date(url: str, tmp_path: Path) -> None:
    (tmp_path / "muster.db").touch()
    with pytest.raises(Unavailable, match="older Muster"):
        open_store(url, write=False)


def test_tables_without_a_version_are_damage(url: str) -> None:
    with open_store(url, write=True) as store:
        change(store, f"DROP TABLE {VERSION_TABLE}")
    with pytest.raises(Corrupted, match="not their version"):
        open_store(url, write=True)


def test_text_that_is_not_unicode_is_refused_and_harms_nothing(store: SqlStore) -> None:
    with pytest.raises(InvalidInput, match="Unicode"):
        store.log.append([TimerFired(at_ms=1, job=JobId("\ud800"))], 0)
    assert store.log.append(EVENTS, 0) == 1


def test_a_writer_that_lost_its_connection_gets_a_new_one(postgres: Server) -> None:
    with open_store(postgres.new_url(), write=True) as store:
        cut_off(postgres, store)
        with pytest.raises(Unavailable):
            store.log.append(EVENTS, 0)
        assert store.log.append(EVENTS, 0) == 1


def test_a_writer_that_lost_its_place_does_not_write(postgres: Server) -> None:
    url = postgres.new_url()
    with open_store(url, write=True) as first:
        cut_off(postgres, first)
        with open_store(url, write=True) as second:
            with pytest.raises(Unavailable):
                first.log.append(EVENTS, 0)
            with pytest.raises(Refused, match="in use by another Muster"):
                first.log.append(EVENTS, 0)
            assert second.log.append(EVENTS, 0) == 1


def cut_off(server: Server, store: SqlStore) -> None:
    """End the writer's connection at the server."""
    with store._database.writing("ask") as connection:
        process = connection.scalar(text("SELECT pg_backend_pid()"))
    server.run(f"SELECT pg_terminate_backend({process}, 10000)")


def test_a_postgres_that_is_not_there_is_unavailable_and_its_password_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        open_store(f"postgresql://ann:secret@/muster?host={tmp_path}", write=True)
    assert "ann" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["", "muster.db", "mysql://host/db", "sqlite://", "sqlite:///:memory:"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="sqlite:////path"):
        open_store(url, write=True)


def test_a_file_that_is_not_there_cannot_be_read_or_made_in_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no store"):
        open_store(f"sqlite:///{tmp_path}/muster.db", write=False)
    with pytest.raises(NotFound, match="does not exist"):
        open_store(f"sqlite:///{tmp_path}/nowhere/muster.db", write=True)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "muster.db"
    path.write_bytes(b"not a database" * 1_000)
    with pytest.raises(Corrupted, match=r"muster.db.*not a database"):
        open_store(f"sqlite:///{path}", write=True)


def test_only_its_owner_can_read_a_file(tmp_path: Path) -> None:
    path = tmp_path / "muster.db"
    with open_store(f"sqlite:///{path}", write=True) as store:
        store.log.append(EVENTS, 0)
        modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.iterdir()}
    assert len(modes) == 4
    assert set(modes.values()) == {0o600}


def test_commits_wait_for_the_disk(store: SqlStore) -> None:
    with store._database.writing("ask") as connection:
        if connection.dialect.name == "sqlite":
            asked = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "cell_size_check": 1}
            for name, expected in asked.items():
                assert connection.exec_driver_sql(f"PRAGMA {name}").scalar() == expected
        else:
            assert connection.scalar(text("SHOW synchronous_commit")) == "on"
