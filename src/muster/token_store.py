"""The port behind which tokens are kept: stores implement it, and whoever lets people in asks it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from muster.model.access import Token
from muster.model.audit import AuditEntry
from muster.model.ids import TokenId

Account = Callable[[Sequence[Token]], Sequence[AuditEntry]]
"""What the audit says of tokens that are about to be revoked, as they were before."""


def unaccounted(_: Sequence[Token]) -> Sequence[AuditEntry]:
    """Nothing is to be audited."""
    return ()


class TokenStore(Protocol):
    """The tokens that let people in. What changes them may be audited in the same transaction."""

    def add(self, token: Token, *, audit: Sequence[AuditEntry] = ()) -> None:
        """Keep a new token. Raises `Conflict` when its id or its digest is taken.

        Raises `Unauthenticated` when the token that it was made with has been revoked meanwhile.
        """
        ...

    def find(self, digest: str) -> Token | None:
        """The token with this digest, also when it has expired or was revoked; None when there is none."""
        ...

    def all(self) -> Sequence[Token]:
        """Every token there ever was, oldest first."""
        ...

    def revoke(self, token: TokenId, at_ms: int, *, audit: Account = unaccounted) -> Sequence[Token]:
        """Let a token no longer in, nor any that was made with it, and return them as they are now, that token first.

        The first revocation of each counts. `audit` is asked in the transaction, so that it knows of every token.

        Raises `NotFound` when there is no such token.
        """
        ...


def made_with(token: TokenId, tokens: Sequence[Token]) -> list[Token]:
    """A token and all that were made with it, or with one of those, each after its maker."""
    found = [each for each in tokens if each.id == token]
    for maker in found:
        found += [each for each in tokens if each.maker == maker.id]
    return found
