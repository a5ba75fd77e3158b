"""What a driver raises is told in Muster's words, and bugs are left as they are."""

import sqlite3

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from muster.model.errors import Corrupted, InvalidInput, MusterError, Unavailable
from muster.store.sql.failures import in_own_words


def sqlite_error(code: int | None) -> OperationalError:
    cause = sqlite3.OperationalError("what SQLite says")
    if code is not None:
        cause.sqlite_errorcode = code
    return OperationalError("INSERT", {}, cause)


def postgres_error(cause: psycopg.Error) -> DatabaseError:
    return DatabaseError("INSERT", {}, cause)


@pytest.mark.parametrize(
    ("raised", "expected", "words"),
    [
        (sqlite_error(13), Unavailable, "the disk is full"),
        (sqlite_error(10 | 19 << 8), Unavailable, "the disk is full"),
        (sqlite_error(5), Unavailable, "locked"),
        (sqlite_error(8 | 5 << 8), Unavailable, "read-only"),
        (sqlite_error(10 | 4 << 8), Unavailable, "disk fails"),
        (sqlite_error(11), Corrupted, "damaged"),
        (sqlite_error(26), Corrupted, "damaged"),
        (sqlite_error(1), Corrupted, "damaged"),
        (sqlite_error(None), Corrupted, "damaged"),
        (postgres_error(errors.DiskFull("no space")), Unavailable, "the disk is full"),
        (postgres_error(errors.AdminShutdown("bye")), Unavailable, "does not answer"),
        (postgres_error(errors.ReadOnlySqlTransaction("standby")), Unavailable, "does not answer"),
        (postgres_error(psycopg.OperationalError("connection lost")), Unavailable, "connection lost"),
        (postgres_error(errors.UndefinedTable("no jobs")), Corrupted, "no jobs"),
        (postgres_error(errors.DataCorrupted("bad page")), Corrupted, "bad page"),
        (postgres_error(psycopg.DataError("cannot contain NUL")), InvalidInput, "NUL"),
        (NoConnectionLeft("QueuePool"), Unavailable, "connections"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), Corrupted, "damaged"),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), InvalidInput, "surrogates"),
    ],
)
def test_what_a_driver_raises_is_told_in_own_words(raised: Exception, expected: type[MusterError], words: str) -> None:
    with pytest.raises(expected, match=words), in_own_words("the store"):
        raise raised


@pytest.mark.parametrize(
    ("code", "brief"),
    [(13, "the disk is full"), (5, "the store is locked"), (10, "the store's disk fails")],
)
def test_what_every_caller_may_read_says_what_is_wrong_and_not_where(code: int, brief: str) -> None:
    with pytest.raises(Unavailable) as told, in_own_words("the store /secret/place"):
        raise sqlite_error(code)
    assert told.value.brief == brief


@pytest.mark.parametrize("bug", [sqlite_error(21), postgres_error(errors.InFailedSqlTransaction("?")), KeyError("x")])
def test_bugs_are_left_as_they_are(bug: Exception) -> None:
    with pytest.raises(type(bug)), in_own_words("the store"):
        raise bug
