"""The log, its audit, folded jobs, saved states and tokens."""

import sqlalchemy as sa
from alembic import op

from muster.store.sql.columns import Bytes, Number, Words

revision = "r0001"
down_revision = None


def upgrade() -> None:
    """Make all tables, and the one row that says where the empty log ends."""
    _make_chains()
    _make_records()


def _make_chains() -> None:
    op.create_table(
        "events",
        sa.Column("version", Number, primary_key=True, autoincrement=False),
        sa.Column("at_ms", Number, nullable=False),
        sa.Column("kind", Words, nullable=False),
        sa.Column("job", Words),
        sa.Column("body", Bytes, nullable=False),
        sa.Column("chain", Bytes, nullable=False),
    )
    op.create_index("events_of_job", "events", ["job", "version"])
    op.create_table(
        "audit",
        sa.Column("seq", Number, primary_key=True, autoincrement=False),
        sa.Column("at_ms", Number, nullable=False),
        sa.Column("by", Words, nullable=False),
        sa.Column("action", Words, nullable=False),
        sa.Column("subject", Words, nullable=False),
        sa.Column("detail", Bytes, nullable=False),
        sa.Column("reason", Words, nullable=False),
        sa.Column("version", Number, nullable=False),
        sa.Column("chain", Bytes, nullable=False),
    )
    op.create_index("audit_of_subject", "audit", ["subject", "seq"])
    head = op.create_table(
        "head",
        sa.Column("id", Number, primary_key=True, autoincrement=False),
        sa.Column("version", Number, nullable=False),
        sa.Column("chain", Bytes, nullable=False),
        sa.Column("audit_seq", Number, nullable=False),
        sa.Column("audit_chain", Bytes, nullable=False),
    )
    op.bulk_insert(head, [{"id": 1, "version": 0, "chain": bytes(32), "audit_seq": 0, "audit_chain": bytes(32)}])


def _make_records() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", Words, primary_key=True),
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
    op.create_index("jobs_by_submission", "jobs", ["submitted_ms", "id"])
    op.create_index("jobs_by_state", "jobs", ["state", "submitted_ms", "id"])
    op.create_index("jobs_of_array", "jobs", ["array", "submitted_ms", "id"])
    op.create_table(
        "states",
        sa.Column("version", Number, primary_key=True, autoincrement=False),
        sa.Column("layout", Words, nullable=False),
        sa.Column("body", Bytes, nullable=False),
        sa.Column("digest", Bytes, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", Words, primary_key=True),
        sa.Column("name", Words, nullable=False),
        sa.Column("secret_digest", Words, nullable=False),
        sa.Column("bindings", Bytes, nullable=False),
        sa.Column("created_ms", Number, nullable=False),
        sa.Column("expires_ms", Number),
        sa.Column("revoked_ms", Number),
        sa.Column("scopes", Bytes, nullable=False),
        sa.Column("digest", Bytes, nullable=False),
    )
    op.create_index("tokens_by_secret", "tokens", ["secret_digest"], unique=True)
