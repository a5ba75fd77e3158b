"""From a secret to the principal it belongs to.

What the store answered is cached for a moment, so that not every request asks the store. A token that is revoked by
this control plane stops working at once. A token that is revoked by another one stops working when the cache expires.
"""

import hmac
from collections.abc import Sequence
from threading import Lock

from muster.access.attempt_keyring import AttemptKeyring
from muster.access.principal import Principal, principal_of
from muster.access.secrets import digest_of, token_id
from muster.attempt_token import claim_of
from muster.model.access import Token
from muster.model.errors import Unauthenticated
from muster.model.ids import TokenId
from muster.model.limits import TOKENS_REMEMBERED, TOKENS_REMEMBERED_MS, TOKENS_TRUSTED_MS
from muster.token_store import Account, TokenStore, unaccounted


class Keyring:
    """Identifies callers by their tokens."""

    def __init__(self, store: TokenStore, attempts: AttemptKeyring | None = None) -> None:
        self.store = store
        self.attempts = AttemptKeyring(store, find=lambda _: None) if attempts is None else attempts
        self._known: dict[str, tuple[int, Token]] = {}
        self._revocations = 0
        self._lock = Lock()

    def recall(self, secret: str, now_ms: int, *, store_answers: bool = True) -> Principal | None:
        """The principal of this secret, if the store was asked a moment ago; None when the store has to be asked.

        While the store does not answer, cached tokens stay valid for longer, so that users can read what needs no
        store.
        """
        if (agent := self.attempts.agent(secret)) is not None:
            return agent
        grace_ms = 0 if store_answers else TOKENS_TRUSTED_MS
        if claim_of(secret) is not None:
            return self.attempts.recall(secret, now_ms, grace_ms=grace_ms)
        digest = digest_of(secret)
        until_ms, token = self._known.get(digest, (0, None))
        if token is None or now_ms >= until_ms + grace_ms:
            return None
        return _admitted(token, secret, digest, now_ms)

    def has_met(self, secret: str) -> bool:
        """True when this secret was accepted before. It may have expired or been revoked since."""
        return digest_of(secret) in self._known or self.attempts.is_valid(secret)

    def identify(self, secret: str, now_ms: int) -> Principal:
        """The principal of this secret. Asks the store, which may take a while."""
        if claim_of(secret) is not None:
            return self.attempts.identify(secret, now_ms)
        digest = digest_of(secret)
        revocations = self._revocations
        token = self.store.find(digest) if token_id(secret) is not None else None
        if token is None:
            raise Unauthenticated("this token is not known here; ask whoever runs Muster for one")
        principal = _admitted(token, secret, digest, now_ms)
        with self._lock:
            # If a token was revoked meanwhile, the answer of the store may be outdated, so it is not cached.
            if revocations == self._revocations:
                if len(self._known) >= TOKENS_REMEMBERED:
                    self._known.clear()
                self._known[digest] = (now_ms + TOKENS_REMEMBERED_MS, token)
        return principal

    def revoke(self, token: TokenId, at_ms: int, *, audit: Account = unaccounted) -> Sequence[Token]:
        """Revoke a token and all tokens that were made with it."""
        revoked = self.store.revoke(token, at_ms, audit=audit)
        with self._lock:
            self._revocations += 1
            self.attempts.forget()
            for each in revoked:
                self._known.pop(each.digest, None)
        return revoked


def _admitted(token: Token, secret: str, digest: str, now_ms: int) -> Principal:
    is_same = hmac.compare_digest(token.digest, digest) and token.id == token_id(secret)
    if not is_same or token.revoked_ms is not None:
        raise Unauthenticated("this token is not known here any more; ask whoever runs Muster for another")
    if token.expires_ms is not None and now_ms >= token.expires_ms:
        raise Unauthenticated("this token has expired; ask whoever runs Muster for another")
    return principal_of(token)
