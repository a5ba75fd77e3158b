"""Where the log and the audit end. It is stored separately, so that a lost end of either is noticed."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select, update

from muster.model.errors import Corrupted
from muster.store.sql.chains import AUDIT, EVENTS
from muster.store.sql.digests import GENESIS
from muster.store.sql.schema import head as table

# Every transaction runs them, and making a statement costs more than running it.
_READ = select(table.c.version, table.c.chain, table.c.audit_seq, table.c.audit_chain)
_READ_TO_CHANGE = _READ.with_for_update()
_MOVE = update(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The number and the chain of the last row of the log and of the audit."""

    version: int = 0
    chain: bytes = GENESIS
    audit_seq: int = 0
    audit_chain: bytes = GENESIS


def read_head(connection: Connection, name: str, *, to_change: bool = False) -> Head:
    """The head. With `to_change`, no other transaction can change it until this one ends."""
    rows = connection.execute(_READ_TO_CHANGE if to_change else _READ).all()
    if len(rows) != 1 or not _is_sound(*rows[0]):
        raise Corrupted(f"{name} does not say where its log ends: it is damaged, restore it from a copy")
    version, chain, audit_seq, audit_chain = rows[0]
    return Head(version=version, chain=chain, audit_seq=audit_seq, audit_chain=audit_chain)


def move_head(connection: Connection, new: Head) -> None:
    """Store where the log and the audit end now."""
    values = {"version": new.version, "chain": new.chain, "audit_seq": new.audit_seq, "audit_chain": new.audit_chain}
    connection.execute(_MOVE, values)


def check_head(connection: Connection, name: str) -> Head:
    """The head. Raises `Corrupted` unless the log and the audit end where it says."""
    head = read_head(connection, name)
    for chain, last, expected in (
        (EVENTS, head.version, head.chain),
        (AUDIT, head.audit_seq, head.audit_chain),
    ):
        found = connection.scalar(select(func.max(chain.number))) or 0
        if found != last or chain.at(connection, found) != expected:
            message = f"{name} should end with {chain.row_name} {last}, and does not"
            raise Corrupted(f"{message}; it is damaged, restore it from a copy")
    return head


def _is_sound(version: object, chain: object, audit_seq: object, audit_chain: object) -> bool:
    """True when the values have the right types: a damaged file can hold anything."""
    numbers = isinstance(version, int) and isinstance(audit_seq, int)
    return numbers and isinstance(chain, bytes) and isinstance(audit_chain, bytes)
