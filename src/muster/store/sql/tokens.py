"""Tokens in a table: digests of their secrets, never a secret itself."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select, update

from muster.model.access import Token
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, Corrupted, NotFound, Unauthenticated
from muster.model.ids import TokenId
from muster.model.records import evolve
from muster.store.codec import decode_bindings, decode_names, encode
from muster.store.sql.audit_trail import add_entries
from muster.store.sql.database import Database
from muster.store.sql.digests import is_sealed, seal
from muster.store.sql.head import move_head, read_head
from muster.store.sql.schema import tokens as table
from muster.token_store import Account, made_with, unaccounted


class SqlTokenStore:
    """All tokens, including expired and revoked ones."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, token: Token, *, audit: Sequence[AuditEntry] = ()) -> None:
        """Store a new token."""
        taken = select(table.c.id).where(or_(table.c.id == token.id, table.c.secret_digest == token.digest))
        with self._database.writing("add_token") as connection:
            if connection.execute(taken).first() is not None:
                raise Conflict(f"there is a token {token.id} already, or one with the same secret; make another")
            self._check_maker(connection, token)
            connection.execute(insert(table), _row(token))
            self._audit(connection, audit)

    def find(self, digest: str) -> Token | None:
        """The token with this digest."""
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.secret_digest == digest)).first()
        return None if row is None else self._token(row)

    def all(self) -> Sequence[Token]:
        """Every token there ever was, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created_ms, table.c.id)).all()
        return [self._token(row) for row in rows]

    def _check_maker(self, connection: Connection, token: Token) -> None:
        """Raise if the maker was revoked. Runs in the transaction that stores the token, so that none slips through."""
        if token.maker is None:
            return
        row = connection.execute(select(table).where(table.c.id == token.maker)).first()
        if row is None or self._token(row).revoked_ms is not None:
            raise Unauthenticated("this token is not known here any more; ask whoever runs Muster for another")

    def revoke(self, token: TokenId, at_ms: int, *, audit: Account = unaccounted) -> Sequence[Token]:
        """Revoke a token, and all tokens that were made with it."""
        with self._database.writing("revoke_token") as connection:
            rows = connection.execute(select(table).order_by(table.c.created_ms, table.c.id)).all()
            tree = made_with(token, [self._token(row) for row in rows])
            if not tree:
                raise NotFound(f"there is no token {token}")
            revoked = [each if each.revoked_ms is not None else evolve(each, revoked_ms=at_ms) for each in tree]
            for before, after in zip(tree, revoked, strict=True):
                if before != after:
                    connection.execute(update(table).where(table.c.id == after.id).values(_row(after)))
            self._audit(connection, audit(tree))
        return revoked

    def _audit(self, connection: Connection, entries: Sequence[AuditEntry]) -> None:
        if entries:
            head = read_head(connection, self._database.name, to_change=True)
            move_head(connection, add_entries(connection, head, entries))

    def _token(self, row: Row[Any]) -> Token:
        if not is_sealed(row):
            message = f"{self._database.name}: token {row.id} is not what was written"
            raise Corrupted(f"{message}; restore it from a copy")
        return Token(
            id=row.id,
            name=row.name,
            digest=row.secret_digest,
            bindings=decode_bindings(row.bindings),
            created_ms=row.created_ms,
            expires_ms=row.expires_ms,
            revoked_ms=row.revoked_ms,
            scopes=decode_names(row.scopes),
            subject=row.subject or "",
            maker=row.maker,
        )


def _row(token: Token) -> dict[str, object]:
    named = (token.id, token.name, token.digest, encode(token.bindings))
    times = (token.created_ms, token.expires_ms, token.revoked_ms)
    values = (*named, *times, encode(token.scopes), token.subject or None, token.maker)
    return dict(zip(table.c.keys(), (*values, seal(*values)), strict=True))
