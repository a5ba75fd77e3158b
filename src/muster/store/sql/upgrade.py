"""Brings a database to the newest schema, and tells which one it has."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, select, text

from muster.model.errors import Corrupted, TooNew, Unavailable
from muster.store.sql.schema import REVISION, VERSION_TABLE, compatibility, metadata

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).with_name("migrations")


def revision_of(connection: Connection, name: str) -> str | None:
    """The migration that the database is at; None when it is empty."""
    there = inspect(connection).get_table_names()
    if VERSION_TABLE not in there:
        if any(table in there for table in metadata.tables):
            raise Corrupted(f"{name} has Muster's tables and not their version: it is damaged, restore it from a copy")
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()
    if len(found) != 1:
        raise Corrupted(f"{name} says {len(found)} times which version it has: it is damaged, restore it from a copy")
    return str(found[0])


def bring_up_to_date(connection: Connection, name: str) -> None:
    """Run all migrations that the database lacks, in the present transaction of the connection."""
    found = revision_of(connection, name)
    if found != REVISION and not _is_newer_and_compatible(connection, found):
        _migrate(connection, found, name)


def check_up_to_date(connection: Connection, name: str) -> None:
    """Raise an error unless the schema is the newest: a reader does not change it."""
    found = revision_of(connection, name)
    if found != REVISION and not _is_newer_and_compatible(connection, found):
        _check_known(found, name)
        raise Unavailable(f"{name} was made by an older Muster; start this one on it once, then try again")


def _is_newer_and_compatible(connection: Connection, found: str | None) -> bool:
    """True when a newer Muster has only added to the schema since this one's revision."""
    if found is None or found <= REVISION or compatibility.name not in inspect(connection).get_table_names():
        return False
    oldest = connection.scalar(select(compatibility.c.oldest))
    return oldest is not None and oldest <= REVISION


def _migrate(connection: Connection, found: str | None, name: str) -> None:
    # Imported here, because most starts find nothing to migrate and should not pay for the import.
    from alembic import command  # noqa: PLC0415

    _check_known(found, name)
    command.upgrade(migrations(connection), "head")


def _check_known(found: str | None, name: str) -> None:
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    known = [each.revision for each in ScriptDirectory.from_config(migrations()).walk_revisions()]
    if found is not None and found not in known:
        message = f"{name} has schema {found!r}, and this Muster knows none after {REVISION!r}"
        raise TooNew(f"{message}: use the newer Muster that wrote it, or restore an older copy")


def migrations(connection: Connection | None = None) -> "Config":
    """The configuration with which alembic finds the migrations and runs them on a connection."""
    from alembic.config import Config  # noqa: PLC0415

    configuration = Config()
    configuration.attributes["connection"] = connection
    configuration.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    configuration.set_main_option("path_separator", "os")
    return configuration
