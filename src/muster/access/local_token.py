"""The token of the user who runs the server: made at the first start, kept in a file that only this user can read."""

import os
import pwd
from pathlib import Path

from muster.access.secrets import digest_of, new_secret
from muster.home import Home
from muster.model.access import Binding, Role, Token
from muster.model.audit import AuditEntry
from muster.model.errors import Unavailable
from muster.private_files import write_private
from muster.token_store import TokenStore


def local_token(home: Path, store: TokenStore, now_ms: int) -> str:
    """The secret in the home's token file.

    A new token is made when the file has none, or when its token is unknown, revoked or has an expiry.
    """
    path = Home(home).token
    known = _read(path)
    if known and _opens(known, store):
        return known
    secret = new_secret()
    name = user_name()
    entry = AuditEntry(at_ms=now_ms, by=name, action="tokens.create", subject=secret.id, reason="first start")
    token = Token(
        id=secret.id,
        name=name,
        subject=name,
        digest=secret.digest,
        bindings=(Binding(role=Role.ADMIN),),
        created_ms=now_ms,
    )
    # The file first: otherwise a token whose secret was never saved could stay in the store for ever.
    try:
        write_private(path, f"{secret.text}\n")
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}; make room and try again") from None
    store.add(token, audit=(entry,))
    return secret.text


def user_name() -> str:
    """The operating system's name for the user who started this process."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"


def _opens(secret: str, store: TokenStore) -> bool:
    token = store.find(digest_of(secret))
    return token is not None and token.revoked_ms is None and token.expires_ms is None


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
