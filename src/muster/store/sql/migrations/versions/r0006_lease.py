"""The lease of the leader, and the oldest revision whose Muster can work with this schema."""

import sqlalchemy as sa
from alembic import op

from muster.store.sql.columns import Number, Words

revision = "r0006"
down_revision = "r0005"


def upgrade() -> None:
    """Add the columns of the lease, empty: no control plane leads by one yet."""
    op.add_column("cluster", sa.Column("leader", Words))
    op.add_column("cluster", sa.Column("beat", Number))
    op.add_column("cluster", sa.Column("wanted_by", Words))
    compatibility = op.create_table(
        "schema_compatibility",
        sa.Column("id", Number, primary_key=True, autoincrement=False),
        sa.Column("oldest", Words, nullable=False),
    )
    op.bulk_insert(compatibility, [{"id": 1, "oldest": "r0006"}])
