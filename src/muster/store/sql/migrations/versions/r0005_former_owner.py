"""Whose nodes a cluster had before, until it is recorded that what they ran has ended."""

import sqlalchemy as sa
from alembic import op

from muster.store.sql.columns import Words

revision = "r0005"
down_revision = "r0004"


def upgrade() -> None:
    """Add it; of what was taken over before, all is recorded."""
    for name in ("former_machine", "former_home", "former_host"):
        op.add_column("cluster", sa.Column(name, Words))
