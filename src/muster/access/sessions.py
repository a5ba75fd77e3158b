"""Signing in with a browser: a code that is good once and for a minute, and the session that it becomes.

A session is a token like any other, made with the token of the person who signs in: it allows the same, ends no later,
and is revoked with it. Its secret is cut in two. The browser keeps one half in a cookie that no script can read, and
the page keeps the other half, which only pages of the same address and port can read. So neither another server on this
machine, to which browsers send the cookie too, nor a foreign page, for which they send the cookie, has both.
"""

import secrets as random_source
from dataclasses import dataclass
from threading import Lock

from muster.access.principal import Principal
from muster.access.secrets import NewSecret, digest_of, new_secret
from muster.model.access import Token
from muster.model.client_limits import SESSION_MS, SIGN_IN_CODE_MS, SIGN_IN_CODES
from muster.model.errors import Refused, TooMany, Unauthenticated

LABEL = "browser"
"""The name of the token of a session."""

PAGE_CHARS = 21
"""How much of the secret the page keeps: 126 bits. The cookie has the rest."""

CODE_BYTES = 24


class SignInCodes:
    """The codes that were given out and not used yet. They are forgotten when the server stops."""

    def __init__(self) -> None:
        self._holders: dict[str, tuple[int, Principal]] = {}
        self._lock = Lock()

    def issue(self, principal: Principal, now_ms: int) -> str:
        """A new code for this caller."""
        _refuse_jobs(principal)
        code = random_source.token_urlsafe(CODE_BYTES)
        with self._lock:
            self._holders = {each: held for each, held in self._holders.items() if now_ms < held[0]}
            if len(self._holders) >= SIGN_IN_CODES:
                raise TooMany("too many people are signing in at once; try again in a minute", retry_s=60)
            self._holders[digest_of(code)] = (now_ms + SIGN_IN_CODE_MS, principal)
        return code

    def redeem(self, code: str, now_ms: int) -> Principal:
        """The caller to whom a code was given. It is good once."""
        with self._lock:
            until_ms, principal = self._holders.pop(digest_of(code), (0, None))
        if principal is None or now_ms >= until_ms:
            raise Unauthenticated("this link was used already or is older than a minute; `muster open` makes another")
        return principal


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSecret:
    """The two halves of the secret of a session."""

    cookie: str
    page: str

    def __repr__(self) -> str:
        return "SessionSecret(…)"


def new_session(principal: Principal, now_ms: int) -> tuple[Token, SessionSecret]:
    """A token for a browser of this caller, and its secret in halves."""
    _refuse_jobs(principal)
    secret = new_secret()
    limits = [now_ms + SESSION_MS, *([] if principal.expires_ms is None else [principal.expires_ms])]
    token = Token(
        id=secret.id,
        name=LABEL,
        subject=principal.name,
        maker=principal.token or None,
        digest=secret.digest,
        bindings=principal.bindings,
        scopes=principal.scopes,
        created_ms=now_ms,
        expires_ms=min(limits),
    )
    return token, _halves(secret)


def joined(cookie: str, page: str) -> str:
    """The secret of a session from its halves. A half alone is no secret."""
    return cookie + page if cookie and len(page) == PAGE_CHARS else ""


def _refuse_jobs(principal: Principal) -> None:
    """A session would outlive the attempt."""
    if principal.attempt:
        raise Refused("a job may not sign anybody in; do it with a token of your own")


def _halves(secret: NewSecret) -> SessionSecret:
    return SessionSecret(cookie=secret.text[:-PAGE_CHARS], page=secret.text[-PAGE_CHARS:])
