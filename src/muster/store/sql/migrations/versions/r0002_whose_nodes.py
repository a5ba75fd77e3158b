"""The name of the cluster, the owner of its nodes, and the epoch of its leader."""

import sqlalchemy as sa
from alembic import op

from muster.store.sql.columns import Number, Words

revision = "r0002"
down_revision = "r0001"


def upgrade() -> None:
    """Make the table. The first control plane that leads adds its only row."""
    op.create_table(
        "cluster",
        sa.Column("id", Number, primary_key=True, autoincrement=False),
        sa.Column("name", Words, nullable=False),
        sa.Column("machine", Words, nullable=False),
        sa.Column("home", Words, nullable=False),
        sa.Column("host", Words, nullable=False),
        sa.Column("epoch", Number, nullable=False),
    )
