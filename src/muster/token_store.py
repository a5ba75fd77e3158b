"""The port to the store of tokens: stores implement it, and authentication asks it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from muster.model.access import Token
from muster.model.audit import AuditEntry
from muster.model.ids import TokenId

Account = Callable[[Sequence[Token]], Sequence[AuditEntry]]
"""Makes the audit entries for tokens that are about to be revoked, from what they were before."""


def unaccounted(_: Sequence[Token]) -> Sequence[AuditEntry]:
    """Audit nothing."""
    return ()


class TokenStore(Protocol):
    """The tokens that let people in. A change of them may be audited in the same transaction."""

    def add(self, token: Token, *, audit: Sequence[AuditEntry] = ()) -> None:
        """Store a new token. Raises `Conflict` when its id or its digest is taken.

        Raises `Unauthenticated` when the token that it was made with has been revoked meanwhile.
        """
        ...

    def find(self, digest: str) -> Token | None:
        """The token with this digest, also when it has expired or was revoked; None when there is no such token."""
        ...

    def all(self) -> Sequence[Token]:
        """Every token there ever was, oldest first."""
        ...

    def revoke(self, token: TokenId, at_ms: int, *, audit: Account = unaccounted) -> Sequence[Token]:
        """Revoke a token and every token made with it. Returns them as they are now, the named token first.

        Only the first revocation of a token counts. `audit` is called in the transaction, so that it sees every token.

        Raises `NotFound` when there is no such token.
        """
        ...


def made_with(token: TokenId, tokens: Sequence[Token]) -> list[Token]:
    """A token and all tokens made with it, directly or through other tokens, each after its maker."""
    found = [each for each in tokens if each.id == token]
    for maker in found:
        found += [each for each in tokens if each.maker == maker.id]
    return found
