"""What the cluster is called, whose nodes it has, and who leads it."""

import sqlalchemy as sa
from alembic import op

from muster.store.sql.columns import Number, Words

revision = "r0002"
down_revision = "r0001"


def upgrade() -> None:
    """Make the table; its one row comes with the first control plane that leads."""
    op.create_table(
        "cluster",
        sa.Column("id", Number, primary_key=True, autoincrement=False),
        sa.Column("name", Words, nullable=False),
        sa.Column("machine", Words, nullable=False),
        sa.Column("home", Words, nullable=False),
        sa.Column("host", Words, nullable=False),
        sa.Column("epoch", Number, nullable=False),
    )
