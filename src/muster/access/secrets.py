"""The secret in a token: 256 bits that are shown once, and afterwards known only by their SHA-256.

It is written `muster_<id>_<secret>`, so that whoever finds one knows what it opens and which to revoke. A digest needs
no salt and no slow hash: nobody guesses 256 bits.
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
    """What a new token is known by, and what its holder is given."""

    id: TokenId
    text: str
    digest: str

    def __repr__(self) -> str:
        return f"NewSecret(id={self.id!r})"


def new_secret() -> NewSecret:
    """A secret that nobody had before."""
    token = TokenId(random_source.token_hex(ID_BYTES))
    text = f"muster_{token}_{random_source.token_urlsafe(SECRET_BYTES)}"
    return NewSecret(id=token, text=text, digest=digest_of(text))


def digest_of(text: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(text.encode()).hexdigest()


def token_id(text: str) -> TokenId | None:
    """The token that a text claims to be; None when it does not look like one."""
    match = _SHAPE.fullmatch(text)
    return None if match is None else TokenId(match[1])
