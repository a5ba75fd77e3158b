"""Tokens say for which user they act and which token made them."""

import sqlalchemy as sa
from alembic import op

from muster.store.sql.columns import Bytes, Number, Words
from muster.store.sql.digests import is_sealed, seal

revision = "r0003"
down_revision = "r0002"

_tokens = sa.table(
    "tokens",
    sa.column("id", Words),
    sa.column("name", Words),
    sa.column("secret_digest", Words),
    sa.column("bindings", Bytes),
    sa.column("created_ms", Number),
    sa.column("expires_ms", Number),
    sa.column("revoked_ms", Number),
    sa.column("scopes", Bytes),
    sa.column("subject", Words),
    sa.column("maker", Words),
    sa.column("digest", Bytes),
)


def upgrade() -> None:
    """Add both columns. Existing tokens act for the name they had, and their maker is unknown."""
    op.add_column("tokens", sa.Column("subject", Words))
    op.add_column("tokens", sa.Column("maker", Words))
    connection = op.get_bind()
    before = [column for column in _tokens.c if column.name not in ("subject", "maker")]
    for row in connection.execute(sa.select(*before)).all():
        values = {"subject": row.name}
        if is_sealed(row):
            # A damaged row keeps its digest: a new one would hide the damage.
            values["digest"] = seal(*row[:-1], row.name, None)
        connection.execute(sa.update(_tokens).where(_tokens.c.id == row.id).values(values))
