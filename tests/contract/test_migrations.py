"""The schema that migrations make is the one that the code expects, whichever version a database comes from."""

import ast
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, column, insert, inspect, select, text
from sqlalchemy import table as table_of
from sqlalchemy.engine.interfaces import ReflectedIndex

from muster.engine.engine import Submitted
from muster.model.errors import Corrupted
from muster.model.records import evolve
from muster.model.spec import ArraySpec, JobChanges
from muster.store.base import JobFilter
from muster.store.codec import decode_job, encode
from muster.store.sql import SqlStore, open_store
from muster.store.sql.database import Database
from muster.store.sql.digests import seal
from muster.store.sql.schema import OLDEST_COMPATIBLE, REVISION, VERSION_TABLE, jobs, metadata
from muster.store.sql.store import host_of
from muster.store.sql.upgrade import bring_up_to_date, migrations
from tests.builders import a_job
from tests.contract.test_engine_on_a_store import END_MS, live
from tests.crash.contents import read_all
from tests.unit.engine.world import World

SCRIPTS = ScriptDirectory.from_config(migrations())
REVISIONS = [each.revision for each in reversed(list(SCRIPTS.walk_revisions()))]


def test_the_newest_migration_is_the_one_that_is_expected() -> None:
    assert SCRIPTS.get_current_head() == REVISION
    assert REVISIONS[-1] == REVISION


def test_migrations_make_what_the_code_expects(store: SqlStore) -> None:
    with store._database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, metadata) == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_upgraded_database_is_like_a_new_one(url: str, store: SqlStore, revision: str) -> None:
    with store._database.reading() as connection:
        expected = reflected(connection)
    rebuild(store, revision)
    store.close()
    with open_store(url, write=True) as upgraded, upgraded._database.reading() as connection:
        assert reflected(connection) == expected
        assert upgraded.audit.verify().is_whole
        assert read_all(upgraded)[0] == 0


def test_tokens_of_an_earlier_version_act_in_the_name_they_had(url: str, store: SqlStore) -> None:
    rebuild(store, "r0001")
    values = ("t1", "ann", "d1", b'[{"role":"lead","team":"nlp"}]', 1, None, None, b"[]")
    names = ("id", "name", "secret_digest", "bindings", "created_ms", "expires_ms", "revoked_ms", "scopes", "digest")
    add = text(f"INSERT INTO tokens ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})")
    damaged = ("t2", "ben", "d2", *values[3:])
    with store._database.writing("add") as connection:
        connection.execute(add, dict(zip(names, (*values, seal(*values)), strict=True)))
        connection.execute(add, dict(zip(names, (*damaged, seal(*values)), strict=True)))
    store.close()
    with open_store(url, write=True) as upgraded:
        found = upgraded.tokens.find("d1")
        assert found is not None
        assert (found.name, found.acts_as, found.maker) == ("ann", "ann", None)
        with pytest.raises(Corrupted, match="t2"):
            upgraded.tokens.find("d2")


def rebuild(store: SqlStore, revision: str) -> None:
    """Make the database what a Muster of that time would have made."""
    with store._database.writing("rebuild") as connection:
        everything = MetaData()
        everything.reflect(connection)
        everything.drop_all(connection)
        command.upgrade(migrations(connection), revision)


def reflected(connection: Connection) -> dict[str, object]:
    """Everything that the database says about its tables."""
    inspector = inspect(connection)
    return {
        table: (
            [
                {**column, "type": str(column["type"].compile(connection.dialect))}
                for column in inspector.get_columns(table)
            ],
            inspector.get_pk_constraint(table),
            sorted(({**index, "dialect_options": _told(index)} for index in inspector.get_indexes(table)), key=str),
            inspector.get_foreign_keys(table),
        )
        for table in sorted(inspector.get_table_names())
    }


def _told(index: ReflectedIndex) -> dict[str, str]:
    return {name: str(option) for name, option in index.get("dialect_options", {}).items()}


def test_jobs_of_an_earlier_version_get_their_numbers_and_arrays_their_records(url: str, store: SqlStore) -> None:
    world = World(log=store.log)
    live(world)
    world.engine.submit(a_job("keyed"), world.now_ms, by="ann", key="k", fingerprint="f")
    sweep = a_job("sweep", array=ArraySpec(indices=(0, 1)))
    array = world.engine.submit(sweep, world.now_ms, by="ann")
    assert isinstance(array, Submitted)
    world.engine.update(array.job, world.now_ms, JobChanges(priority=99))
    world.run(END_MS)
    state = world.engine.state
    expected = {**state.jobs, **{each: state.array_record(each) for each in state.arrays}}
    _as_of_r0003(store)
    store.close()
    with open_store(url, write=True) as upgraded:
        assert upgraded.jobs.find(list(expected)) == expected
        assert [job.number for job in upgraded.jobs.page(JobFilter(), limit=3).jobs] == [
            state.submissions - place for place in range(3)
        ]
        assert upgraded.jobs.keyed("ann", "k") is not None
        assert upgraded.audit.verify().is_whole


def _as_of_r0003(store: SqlStore) -> None:
    """Take back what came with the migration after that."""
    with store._database.writing("take back") as connection:
        names = ("id", "submitted_ms", "state", "team", "user", "name", "tier", "array", "body")
        rows = [row for row in connection.execute(select(jobs)).all() if row.kind != "array"]
        kept = {
            table: connection.execute(select(metadata.tables[table])).all() for table in ("events", "audit", "head")
        }
        everything = MetaData()
        everything.reflect(connection)
        everything.drop_all(connection)
        command.upgrade(migrations(connection), "r0003")
        connection.execute(text("DELETE FROM head"))
        for table, found in kept.items():
            if found:
                connection.execute(insert(metadata.tables[table]), [row._asdict() for row in found])
        old = table_of("jobs", *(column(name) for name in (*names, "digest")))
        for row in rows:
            body = encode(evolve(decode_job(row.body), number=0))
            values = (*(getattr(row, name) for name in names[:-1]), body)
            connection.execute(insert(old), dict(zip((*names, "digest"), (*values, seal(*values)), strict=True)))


def test_a_migration_that_fails_leaves_the_database_as_it_was(url: str) -> None:
    database = Database(host_of(url, write=True), write=True)
    with pytest.raises(ZeroDivisionError):
        migrate_and_fail(database)
    with database.reading() as connection:
        assert inspect(connection).get_table_names() == []
    database.close()


def migrate_and_fail(database: Database) -> None:
    with database.writing("upgrade") as connection:
        bring_up_to_date(connection, database.name)
        assert inspect(connection).get_table_names() != []
        raise ZeroDivisionError


ADDITIONS = frozenset({"add_column", "create_table", "create_index", "bulk_insert"})
"""What a migration may do so that the Muster of the revision before works with the new schema too."""


@pytest.mark.parametrize("revision", [each for each in REVISIONS if each >= OLDEST_COMPATIBLE])
def test_a_migration_from_the_oldest_compatible_one_on_only_adds(revision: str) -> None:
    assert not_additions(Path(SCRIPTS.get_revision(revision).path).read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("op.add_column('jobs', sa.Column('image', Words))", []),
        ("op.create_table('images', sa.Column('id', Number, nullable=False))", []),
        ("op.drop_column('jobs', 'name')", ["drop_column"]),
        ("op.alter_column('jobs', 'name', nullable=True)", ["alter_column"]),
        ("op.execute('UPDATE jobs SET name = 1')", ["execute"]),
        ("op.add_column('jobs', sa.Column('image', Words, nullable=False))", ["a column that must be given"]),
        ("op.add_column('jobs', sa.Column('image', Words, nullable=False, server_default=''))", []),
    ],
)
def test_what_is_not_an_addition_is_found(text: str, expected: list[str]) -> None:
    assert not_additions(text) == expected


def not_additions(text: str) -> list[str]:
    """The operations of a migration that the Muster of the revision before would not survive."""
    found = []
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        target = call.func
        if not isinstance(target, ast.Attribute) or getattr(target.value, "id", "") != "op":
            continue
        if target.attr not in ADDITIONS:
            found.append(target.attr)
        written = ast.unparse(call)
        if target.attr == "add_column" and "nullable=False" in written and "server_default" not in written:
            found.append("a column that must be given")
    return found


def test_a_store_to_which_a_newer_muster_only_added_is_used(url: str) -> None:
    with open_store(url, write=True) as store, store._database.writing("change") as connection:
        connection.execute(text("ALTER TABLE jobs ADD COLUMN image TEXT"))
        connection.execute(text("CREATE TABLE images (id INTEGER)"))
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = 'r9999'"))
    with open_store(url, write=True) as store:
        world = World(log=store.log)
        live(world)
        assert store.jobs.page(JobFilter(), limit=3).jobs
        assert store.audit.verify().is_whole
    open_store(url, write=False).close()
