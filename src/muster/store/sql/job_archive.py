"""The newest record of every job, in a table that is written with the events it was folded from."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, or_, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from muster.model.errors import Corrupted
from muster.model.ids import JobId, TeamPath
from muster.model.job import Job
from muster.store.base import JobCursor, JobFilter, JobPage
from muster.store.codec import decode_job, encode
from muster.store.sql.database import Database
from muster.store.sql.digests import is_sealed, seal
from muster.store.sql.schema import jobs as table


class SqlJobArchive:
    """All jobs, a page at a time or one by one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def jobs(self, filters: JobFilter, *, limit: int, cursor: JobCursor | None = None) -> JobPage:
        """A page of jobs, the newest first."""
        asked = _filtered(select(table), filters)
        if cursor is not None:
            asked = asked.where(tuple_(table.c.submitted_ms, table.c.id) < (cursor.submitted_ms, cursor.id))
        asked = asked.order_by(table.c.submitted_ms.desc(), table.c.id.desc()).limit(limit + 1)
        with self._database.reading() as connection:
            rows = connection.execute(asked).all()
        found = tuple(self._record(row) for row in rows[:limit])
        has_more = len(rows) > limit and found
        last = JobCursor(submitted_ms=found[-1].submitted_ms, id=found[-1].id) if has_more else None
        return JobPage(jobs=found, next=last)

    def job(self, job: JobId) -> Job | None:
        """The record of one job."""
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.id == job)).first()
        return None if row is None else self._record(row)

    def _record(self, row: Row[Any]) -> Job:
        if not is_sealed(row):
            message = f"{self._database.name}: the record of job {row.id} is not what was written"
            raise Corrupted(f"{message}; restore it from a copy")
        return decode_job(row.body)


def put_jobs(connection: Connection, jobs: Sequence[Job]) -> None:
    """Write the records in the place of older ones. Of several of one job the last counts."""
    rows = [_row(job) for job in {job.id: job for job in jobs}.values()]
    if rows:
        made = postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
        new = {column.name: made.excluded[column.name] for column in table.c if not column.primary_key}
        connection.execute(made.on_conflict_do_update(index_elements=["id"], set_=new), rows)


def _row(job: Job) -> dict[str, object]:
    spec = job.spec
    kept = (job.id, job.submitted_ms, job.state.value, spec.team, job.user, spec.name, spec.tier, job.array_parent)
    values = (*kept, encode(job))
    return dict(zip(table.c.keys(), (*values, seal(*values)), strict=True))


def _filtered(asked: Select[Any], filters: JobFilter) -> Select[Any]:
    if filters.states:
        asked = asked.where(table.c.state.in_([state.value for state in filters.states]))
    if filters.team is not None:
        asked = asked.where(_within(filters.team))
    for name in ("user", "name", "tier", "array"):
        if (wanted := getattr(filters, name)) is not None:
            asked = asked.where(table.c[name] == wanted)
    return asked


def _within(team: TeamPath) -> Any:
    """The team itself, or a path below it: text between `team/` and `team0`, the character after the slash."""
    below = (table.c.team > f"{team}/") & (table.c.team < f"{team}0")
    return or_(table.c.team == team, below)
