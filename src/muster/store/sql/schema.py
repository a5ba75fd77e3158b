"""The tables, as the newest migration leaves them.

events    the log: one row per event, each chained to the row before
audit     who did what, chained the same way
head      one row: where the log and the audit end, so that a lost end is noticed
jobs      the newest record of every job, task and array, folded from the log
keys      the jobs of requests that had a key
states    saved engine states
tokens    the access tokens
cluster   one row: the cluster's name, the present and the former owner of its nodes, the epoch of its leader, the lease
schema_compatibility  one row: the oldest revision whose Muster can work with this schema
"""

from sqlalchemy import Column, Index, MetaData, Table

from muster.store.sql.columns import Bytes, Number, Words

REVISION = "r0006"
"""The newest migration. A database at this revision is opened without looking for migrations."""

VERSION_TABLE = "muster_version"

OLDEST_COMPATIBLE = "r0006"
"""The oldest revision whose Muster can work with this schema. Migrations after it only added to it."""

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("version", Number, primary_key=True, autoincrement=False),
    Column("at_ms", Number, nullable=False),
    Column("kind", Words, nullable=False),
    Column("job", Words),
    Column("body", Bytes, nullable=False),
    Column("chain", Bytes, nullable=False),
    Index("events_of_job", "job", "version"),
)

audit = Table(
    "audit",
    metadata,
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("at_ms", Number, nullable=False),
    Column("by", Words, nullable=False),
    Column("action", Words, nullable=False),
    Column("subject", Words, nullable=False),
    Column("detail", Bytes, nullable=False),
    Column("reason", Words, nullable=False),
    Column("version", Number, nullable=False),
    Column("chain", Bytes, nullable=False),
    Index("audit_of_subject", "subject", "seq"),
)

head = Table(
    "head",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("version", Number, nullable=False),
    Column("chain", Bytes, nullable=False),
    Column("audit_seq", Number, nullable=False),
    Column("audit_chain", Bytes, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Words, primary_key=True),
    Column("kind", Words, nullable=False),
    Column("number", Number, nullable=False),
    Column("submitted_ms", Number, nullable=False),
    Column("state", Words, nullable=False),
    Column("team", Words, nullable=False),
    Column("user", Words, nullable=False),
    Column("name", Words, nullable=False),
    Column("tier", Words, nullable=False),
    Column("array", Words),
    Column("body", Bytes, nullable=False),
    Column("digest", Bytes, nullable=False),
)

_listed = jobs.c.array.is_(None)
Index("jobs_by_number", jobs.c.number, sqlite_where=_listed, postgresql_where=_listed)
Index("jobs_by_state", jobs.c.state, jobs.c.number, sqlite_where=_listed, postgresql_where=_listed)

keys = Table(
    "keys",
    metadata,
    Column("by", Words, primary_key=True),
    Column("key", Words, primary_key=True),
    Column("job", Words, nullable=False),
    Column("fingerprint", Words, nullable=False),
    Column("digest", Bytes, nullable=False),
)

states = Table(
    "states",
    metadata,
    Column("version", Number, primary_key=True, autoincrement=False),
    Column("layout", Words, nullable=False),
    Column("body", Bytes, nullable=False),
    Column("digest", Bytes, nullable=False),
)

cluster = Table(
    "cluster",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("name", Words, nullable=False),
    Column("machine", Words, nullable=False),
    Column("home", Words, nullable=False),
    Column("host", Words, nullable=False),
    Column("epoch", Number, nullable=False),
    Column("former_machine", Words),
    Column("former_home", Words),
    Column("former_host", Words),
    Column("leader", Words),
    Column("beat", Number),
    Column("wanted_by", Words),
)

compatibility = Table(
    "schema_compatibility",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("oldest", Words, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("secret_digest", Words, nullable=False),
    Column("bindings", Bytes, nullable=False),
    Column("created_ms", Number, nullable=False),
    Column("expires_ms", Number),
    Column("revoked_ms", Number),
    Column("scopes", Bytes, nullable=False),
    Column("subject", Words),
    Column("maker", Words),
    Column("digest", Bytes, nullable=False),
    Index("tokens_by_secret", "secret_digest", unique=True),
)
