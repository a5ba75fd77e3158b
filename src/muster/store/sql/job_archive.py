"""The newest record of every job, task and array, in a table that is written together with their events."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from sqlalchemy import Connection, Executable, Row, Select, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from muster.model.access import EVERY_TEAM
from muster.model.array import ArrayRecord, JobRecord
from muster.model.errors import Corrupted
from muster.model.events import Event, JobSubmitted
from muster.model.ids import JobId, TeamPath
from muster.model.job import FINAL_STATES, Job
from muster.model.limits import JOBS_SCANNED, PAGE_RECORD_BYTES, STORE_PAGE_ROWS
from muster.store.base import JobFilter, JobPage, KeyedRequest
from muster.store.codec import decode_array, decode_job, encode
from muster.store.sql.database import Database
from muster.store.sql.digests import is_sealed, seal
from muster.store.sql.schema import jobs as table
from muster.store.sql.schema import keys

ARRAY = "array"
"""The kind of a row for a whole array. Every other row is for one job or one task."""

IDS_AT_ONCE = 500
"""How many jobs one query may name. SQLite before 3.32 allows 999 parameters."""


class SqlJobArchive:
    """All jobs, a page at a time or one by one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, filters: JobFilter, *, limit: int, before: int | None = None) -> JobPage:
        """A page of jobs and arrays, the newest first."""
        with self._database.reading() as connection:
            last = _newest(connection) if before is None else before - 1
            oldest = max(last - JOBS_SCANNED + 1, 1)
            sizes = connection.execute(_newest_first(_SIZES, filters, oldest, last).limit(limit)).all()
            taken = _fitting(sizes)
            rows = connection.execute(_newest_first(select(table), filters, taken[-1], last)).all() if taken else ()
        is_full = len(taken) == limit or len(taken) < len(sizes)
        following = taken[-1] if is_full else oldest
        return JobPage(jobs=tuple(map(self._record, rows)), next=following if following > 1 else None)

    def find(self, jobs: Sequence[JobId]) -> dict[JobId, JobRecord]:
        """The records of these jobs, tasks and arrays, as far as they exist."""
        found: dict[JobId, JobRecord] = {}
        with self._database.reading() as connection:
            for start in range(0, len(jobs), IDS_AT_ONCE):
                asked = select(table).where(table.c.id.in_(jobs[start : start + IDS_AT_ONCE]))
                found |= {row.id: self._record(row) for row in connection.execute(asked)}
        return found

    def ended(self) -> Iterator[Job]:
        """Every job and task that has ended, in the order of submission."""
        final = [state.value for state in FINAL_STATES]
        asked = select(table).where(table.c.state.in_(final), table.c.kind != ARRAY).order_by(table.c.number)
        with self._database.reading() as connection:
            for row in connection.execute(asked).yield_per(STORE_PAGE_ROWS):
                record = self._record(row)
                assert isinstance(record, Job)
                yield record

    def keyed(self, by: str, key: str) -> KeyedRequest | None:
        """The job of a request with a key."""
        with self._database.reading() as connection:
            row = connection.execute(select(keys).where(keys.c.by == by, keys.c.key == key)).first()
        if row is None:
            return None
        if not is_sealed(row):
            raise Corrupted(f"{self._database.name}: what became of request {key} of {by} is not what was written")
        return KeyedRequest(job=JobId(row.job), fingerprint=row.fingerprint)

    def _record(self, row: Row[Any]) -> JobRecord:
        if not is_sealed(row):
            message = f"{self._database.name}: the record of job {row.id} is not what was written"
            raise Corrupted(f"{message}; restore it from a copy")
        return decode_array(row.body) if row.kind == ARRAY else decode_job(row.body)


def put_jobs(connection: Connection, jobs: Sequence[JobRecord]) -> None:
    """Write the records in the place of older ones. If a job has several, the last counts."""
    rows = [_row(job) for job in {job.id: job for job in jobs}.values()]
    if rows:
        connection.execute(_in_the_place_of_older(connection.dialect.name), rows)


@cache
def _in_the_place_of_older(dialect: str) -> Executable:
    """The statement that writes records. Making it anew for each transaction would cost more than running it."""
    made = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    new = {column.name: made.excluded[column.name] for column in table.c if not column.primary_key}
    return made.on_conflict_do_update(index_elements=["id"], set_=new)


def put_keys(connection: Connection, events: Sequence[Event]) -> None:
    """Store the jobs of requests that had a key."""
    submissions = (event for event in events if isinstance(event, JobSubmitted) and event.key)
    noted = [(event.by, event.key, event.job, event.fingerprint) for event in submissions]
    if noted:
        connection.execute(keys.insert(), [_sealed(keys.c.keys(), values) for values in noted])


def _row(job: JobRecord) -> dict[str, object]:
    spec = job.spec
    array = None if isinstance(job, ArrayRecord) else job.array_parent
    kind = ARRAY if isinstance(job, ArrayRecord) else "job" if array is None else "task"
    kept = (job.id, kind, job.number, job.submitted_ms, job.state.value)
    return _sealed(table.c.keys(), (*kept, spec.team, job.user, spec.name, spec.tier, array, encode(job)))


def _sealed(names: Sequence[str], values: tuple[object, ...]) -> dict[str, object]:
    return dict(zip(names, (*values, seal(*values)), strict=True))


_SIZES = select(table.c.number, func.length(table.c.body).label("bytes"))


def _newest_first(asked: Select[Any], filters: JobFilter, oldest: int, last: int) -> Select[Any]:
    return _filtered(asked, filters).where(table.c.number.between(oldest, last)).order_by(table.c.number.desc())


def _fitting(sizes: Sequence[Row[Any]]) -> list[int]:
    """The numbers of as many records as are read for one page. The first always is."""
    # A damaged row may have no record, and so no size. What is wrong with it is said when it is read.
    read_bytes = accumulate((row.bytes or 0 for row in sizes), initial=0)
    return [row.number for row, before in zip(sizes, read_bytes, strict=False) if before < PAGE_RECORD_BYTES]


def _newest(connection: Connection) -> int:
    return connection.scalar(select(func.max(table.c.number)).where(table.c.array.is_(None))) or 0


def _filtered(asked: Select[Any], filters: JobFilter) -> Select[Any]:
    asked = asked.where(table.c.array.is_(None))
    if filters.states:
        asked = asked.where(table.c.state.in_([state.value for state in filters.states]))
    if EVERY_TEAM not in filters.teams:
        asked = asked.where(or_(False, *map(_within, filters.teams)))
    if filters.team is not None:
        asked = asked.where(_within(filters.team))
    for name in ("user", "name", "tier"):
        if (wanted := getattr(filters, name)) is not None:
            asked = asked.where(table.c[name] == wanted)
    if filters.from_ms is not None:
        asked = asked.where(table.c.submitted_ms >= filters.from_ms)
    if filters.until_ms is not None:
        asked = asked.where(table.c.submitted_ms < filters.until_ms)
    return asked


def _within(team: TeamPath) -> Any:
    """The team itself, or a path below it: text between `team/` and `team0`, because `0` follows `/` in ASCII."""
    below = (table.c.team > f"{team}/") & (table.c.team < f"{team}0")
    return or_(table.c.team == team, below)
