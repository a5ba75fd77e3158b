"""The fence around every write: a transaction of an epoch that is over writes nothing.

The row with the epoch is locked in the mode that renewals of the lease do not wait for, but a new epoch does. So a new
epoch begins before a transaction or after it, never in between.
"""

from sqlalchemy import Connection, select

from muster.model.errors import Superseded
from muster.store.sql.schema import cluster as table

_EPOCH = select(table.c.epoch).with_for_update(read=True, key_share=True)


def check_epoch(connection: Connection, own: int, name: str) -> None:
    """Raise `Superseded` unless this epoch is the present one, and keep it so until the transaction ends."""
    present = connection.scalar(_EPOCH)
    if present != own:
        raise Superseded(f"{name}: another control plane leads, in epoch {present}; this one led in epoch {own}")
