"""The secret in a token: 256 bits that are shown once, and then stored only as their SHA-256.

It is written `muster_<id>_<secret>`, so that a person who finds one knows what it is for and which token to revoke. The
digest needs no salt and no slow hash, because 256 random bits cannot be guessed.
"""

import hashlib
import re
import secrets as random_source
from dataclasses import dataclass

from muster.model.ids import TokenId

SECRET_BYTES = 32
ID_BYTES = 6

_SHAPE = re.compile(r"muster_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSecret:
    """The id and digest of a new token, and the text that its holder gets."""

    id: TokenId
    text: str
    digest: str

    def __repr__(self) -> str:
        return f"NewSecret(id={self.id!r})"


def new_secret() -> NewSecret:
    """A new random secret."""
    token = TokenId(random_source.token_hex(ID_BYTES))
    text = f"muster_{token}_{random_source.token_urlsafe(SECRET_BYTES)}"
    return NewSecret(id=token, text=text, digest=digest_of(text))


def digest_of(text: str) -> str:
    """The digest under which a secret is stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def token_id(text: str) -> TokenId | None:
    """The id of the token that a text claims to be; None when it does not look like a token."""
    match = _SHAPE.fullmatch(text)
    return None if match is None else TokenId(match[1])
