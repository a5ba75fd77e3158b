"""What a driver's errors mean: unavailable now, damaged, or a bug. A bug's error is not changed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from muster.model.errors import Corrupted, InvalidInput, MusterError, Unavailable

SQLITE_FULL = 13
SQLITE_NO_ROOM_FOR_INDEX = 4874
"""The index file (`-shm`) could not grow. So a database on a full disk fails when it is opened."""
SQLITE_NOT_NOW = {
    3: "its file may not be accessed",
    5: "it is locked",
    6: "it is locked",
    7: "there is no memory left",
    8: "its file is read-only",
    10: "its disk fails",
    SQLITE_FULL: "the disk is full",
    14: "its file cannot be opened",
}
"""Result codes of SQLite for problems outside of the database."""
SQLITE_DAMAGED = frozenset({1, 11, 19, 20, 24, 26})
"""Result codes for problems inside it. An error in SQL (1) or a broken constraint (19) is damage too: every statement
here is tested against the schema, and can fail only if the schema or the rows are not what was written."""

POSTGRES_FULL = "53100"
POSTGRES_NOT_NOW = ("08", "25006", "25P03", "28", "40", "42501", "53", "55", "57", "58", "3D")
"""SQLSTATEs or their prefixes: connection, standby, a transaction idle for too long, access, serialisation, rights,
resources, locks, operator intervention, system, no such database."""
POSTGRES_DAMAGED = ("22", "23", "42", "XX001", "XX002")


@contextmanager
def in_own_words(database: str) -> Iterator[None]:
    """Turn errors of the driver into Muster's errors."""
    try:
        yield
    except DBAPIError as error:
        meaning = _meaning(error, database)
        if meaning is None:
            raise
        raise meaning from error
    except UnicodeDecodeError as error:
        raise _damaged(database, error) from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"text that is no Unicode cannot be kept: {error.reason}") from error
    except NoConnectionLeft as error:
        raise Unavailable(f"{database}: all connections are in use; try again in a moment") from error


def _meaning(error: DBAPIError, database: str) -> MusterError | None:
    # Drivers set no code when the error did not come from the database itself.
    cause: BaseException | None = error.orig
    code: int | None = getattr(cause, "sqlite_errorcode", None)
    state: str | None = getattr(cause, "sqlstate", None)
    if type(cause).__module__.startswith("sqlite3"):
        return _sqlite_meaning(code, database, cause)
    return _postgres_meaning(state, database, cause)


def _sqlite_meaning(code: int | None, database: str, cause: BaseException | None) -> MusterError | None:
    if code is None:
        return _damaged(database, cause)  # bytes that are not valid text
    plain = SQLITE_FULL if code == SQLITE_NO_ROOM_FOR_INDEX else code & 0xFF
    if plain in SQLITE_NOT_NOW:
        return _not_now(database, SQLITE_NOT_NOW[plain], cause, is_full=plain == SQLITE_FULL)
    return _damaged(database, cause) if plain in SQLITE_DAMAGED else None


def _postgres_meaning(state: str | None, database: str, cause: BaseException | None) -> MusterError | None:
    if state is None and any(kind.__name__ == "DataError" for kind in type(cause).__mro__):
        return InvalidInput(f"PostgreSQL cannot keep this text: {_first_line(cause)}")
    if state is None or state.startswith(POSTGRES_NOT_NOW):
        trouble = "the disk is full" if state == POSTGRES_FULL else "it does not answer"
        return _not_now(database, trouble, cause, is_full=state == POSTGRES_FULL)
    return _damaged(database, cause) if state.startswith(POSTGRES_DAMAGED) else None


def _not_now(database: str, trouble: str, cause: BaseException | None, *, is_full: bool) -> Unavailable:
    advice = "nothing was written; make room and try again" if is_full else "nothing was written; try again"
    brief = re.sub(r"^it(?P<own>s?)\b", lambda it: "the store's" if it["own"] else "the store", trouble)
    return Unavailable(f"{database}: {trouble} ({_first_line(cause)}); {advice}", brief=brief)


def _damaged(database: str, cause: BaseException | None) -> Corrupted:
    return Corrupted(f"{database} is damaged ({_first_line(cause)}); restore it from a copy")


def _first_line(cause: BaseException | None) -> str:
    return str(cause).strip().split("\n", 1)[0]
