"""The former owner of the nodes, until the log says that what those nodes ran has ended."""

import sqlalchemy as sa
from alembic import op

from muster.store.sql.columns import Words

revision = "r0005"
down_revision = "r0004"


def upgrade() -> None:
    """Add its columns, empty: the log is complete for earlier takeovers."""
    for name in ("former_machine", "former_home", "former_host"):
        op.add_column("cluster", sa.Column(name, Words))
