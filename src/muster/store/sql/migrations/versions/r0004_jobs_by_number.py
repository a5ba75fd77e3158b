"""Jobs have a number, arrays have their own record, and requests with a key are found without reading the log."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from muster.core.lifecycle.arrays import ArrayTally
from muster.core.lifecycle.updating import updated_spec
from muster.model.events import JobSubmitted, JobUpdated
from muster.model.records import evolve
from muster.model.spec import JobSpec
from muster.store.codec import decode_event, decode_job, encode
from muster.store.sql.columns import Bytes, Number, Words
from muster.store.sql.digests import is_sealed, seal

revision = "r0004"
down_revision = "r0003"

ROWS_AT_ONCE = 1000

_KEPT = ("id", "submitted_ms", "state", "team", "user", "name", "tier", "array", "body", "digest")
_OLD = sa.table("jobs", *(sa.column(name) for name in _KEPT))
_EVENTS = sa.table("events", *(sa.column(name) for name in ("version", "kind", "job", "body")))


def upgrade() -> None:
    """Make the tables, and fill them from the old table and the log."""
    keys = op.create_table(
        "keys",
        sa.Column("by", Words, primary_key=True),
        sa.Column("key", Words, primary_key=True),
        sa.Column("job", Words, nullable=False),
        sa.Column("fingerprint", Words, nullable=False),
        sa.Column("digest", Bytes, nullable=False),
    )
    made = _make_jobs("jobs_by_number_too")
    numbers: dict[str, int] = {}
    arrays: list[JobSubmitted] = []
    for number, event in enumerate(_submissions(), start=1):
        numbers[event.job] = number
        if event.key:
            values = (event.by, event.key, event.job, event.fingerprint)
            op.bulk_insert(keys, [dict(zip(keys.c.keys(), (*values, seal(*values)), strict=True))])
        if event.spec.array is not None:
            arrays.append(event)
    _copy_jobs(made, numbers)
    for event in arrays:
        _add_array(made, event, numbers[event.job])
    op.drop_table("jobs")
    op.rename_table(made.name, "jobs")
    listed = sa.text("array IS NULL") if op.get_bind().dialect.name == "sqlite" else sa.text('"array" IS NULL')
    op.create_index("jobs_by_number", "jobs", ["number"], sqlite_where=listed, postgresql_where=listed)
    op.create_index("jobs_by_state", "jobs", ["state", "number"], sqlite_where=listed, postgresql_where=listed)


def _make_jobs(name: str) -> sa.Table:
    return op.create_table(
        name,
        sa.Column("id", Words, primary_key=True),
        sa.Column("kind", Words, nullable=False),
        sa.Column("number", Number, nullable=False),
        sa.Column("submitted_ms", Number, nullable=False),
        sa.Column("state", Words, nullable=False),
        sa.Column("team", Words, nullable=False),
        sa.Column("user", Words, nullable=False),
        sa.Column("name", Words, nullable=False),
        sa.Column("tier", Words, nullable=False),
        sa.Column("array", Words),
        sa.Column("body", Bytes, nullable=False),
        sa.Column("digest", Bytes, nullable=False),
    )


def _submissions() -> Iterator[JobSubmitted]:
    """All submissions, in the order of the log."""
    asked = sa.select(_EVENTS.c.kind, _EVENTS.c.body).where(_EVENTS.c.kind == JobSubmitted.__name__)
    for row in op.get_bind().execute(asked.order_by(_EVENTS.c.version)):
        event = decode_event(row.kind, row.body)
        assert isinstance(event, JobSubmitted)
        yield event


def _copy_jobs(made: sa.Table, numbers: dict[str, int]) -> None:
    """Copy all rows with their numbers. A damaged row keeps its digest: a new one would hide the damage."""
    for rows in op.get_bind().execute(sa.select(_OLD)).partitions(ROWS_AT_ONCE):
        op.bulk_insert(made, [_copied(made.c.keys(), row, numbers.get(row.array or row.id, 0)) for row in rows])


def _copied(names: Sequence[str], row: sa.Row[Any], number: int) -> dict[str, object]:
    kept = (row.id, "job" if row.array is None else "task", number, *row[1:-2])
    if not is_sealed(row):
        return dict(zip(names, (*kept, row.body, row.digest), strict=True))
    values = (*kept, encode(evolve(decode_job(row.body), number=number)))
    return dict(zip(names, (*values, seal(*values)), strict=True))


def _add_array(made: sa.Table, event: JobSubmitted, number: int) -> None:
    """Add the record of an array, computed from the records of its tasks."""
    assert event.spec.array is not None
    bodies = op.get_bind().scalars(sa.select(_OLD.c.body).where(_OLD.c.array == event.job)).all()
    tasks = {task.id: task for task in map(decode_job, bodies)}
    tally = ArrayTally(event.job, event.spec.array)
    for task in tally.tasks:
        tally.move(None, tasks[task])
    spec = _updated(event)
    record = evolve(tally.record(spec, tasks[tally.tasks[0]]), number=number)
    what = (spec.team, record.user, spec.name, spec.tier, None)
    values = (event.job, "array", number, record.submitted_ms, record.state.value, *what, encode(record))
    op.bulk_insert(made, [dict(zip(made.c.keys(), (*values, seal(*values)), strict=True))])


def _updated(event: JobSubmitted) -> JobSpec:
    """The job file of an array, with all later changes to it."""
    asked = sa.select(_EVENTS.c.kind, _EVENTS.c.body).order_by(_EVENTS.c.version)
    changes = asked.where(_EVENTS.c.job == event.job, _EVENTS.c.kind == JobUpdated.__name__)
    spec = event.spec
    for row in op.get_bind().execute(changes):
        update = decode_event(row.kind, row.body)
        assert isinstance(update, JobUpdated)
        spec = updated_spec(spec, update.changes)
    return spec
