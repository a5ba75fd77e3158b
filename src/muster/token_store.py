"""The port behind which tokens are kept: stores implement it, and whoever lets people in asks it."""

from collections.abc import Sequence
from typing import Protocol

from muster.model.access import Token
from muster.model.audit import AuditEntry
from muster.model.ids import TokenId


class TokenStore(Protocol):
    """The tokens that let people in. What changes them may be audited in the same transaction."""

    def add(self, token: Token, *, audit: Sequence[AuditEntry] = ()) -> None:
        """Keep a new token. Raises `Conflict` when its id or its digest is taken."""
        ...

    def find(self, digest: str) -> Token | None:
        """The token with this digest, also when it has expired or was revoked; None when there is none."""
        ...

    def all(self) -> Sequence[Token]:
        """Every token there ever was, oldest first."""
        ...

    def revoke(self, token: TokenId, at_ms: int, *, audit: Sequence[AuditEntry] = ()) -> Token:
        """Let a token no longer in, and return it as it is now. The first revocation counts.

        Raises `NotFound` when there is no such token.
        """
        ...
