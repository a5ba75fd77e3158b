"""The token of one attempt of a job. It is derived from a key of the home, so it is stored nowhere.

The server keeps the key, and the address at which jobs reach it, in a file of the home that only its user can read. The
supervisor of a node derives the token of an attempt that it starts, and the server derives it again to check one. It is
written `muster_attempt_<job>_<number>_~<secret>`, so that a person who finds one knows what it was for.
"""

import base64
import hmac
import json
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from muster.home import Home
from muster.model.ids import JobId

KEY_BYTES = 32

MARK = "~"
"""Stands before the secret part. What may be the beginning of a secret is kept back from terminals, so it is rare."""

_SHAPE = re.compile(r"muster_attempt_([!-~]{1,200})_([0-9]{1,9})_~[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAccess:
    """What jobs need to call the server that runs them."""

    url: str
    key: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The content of the file in the home."""
        return json.dumps({"url": self.url, "key": self.key.hex()})


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptClaim:
    """The attempt that a token says it belongs to."""

    job: JobId
    attempt: int

    def __str__(self) -> str:
        return f"{self.job} attempt {self.attempt}"


def new_key() -> bytes:
    """A new random key."""
    return secrets.token_bytes(KEY_BYTES)


def read_job_access(home: Path) -> JobAccess | None:
    """What the file in the home says; None when no server has written one that can be read."""
    try:
        value = json.loads(Home(home).job_access.read_text("utf-8"))
        url, key = value["url"], bytes.fromhex(value["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return JobAccess(url=url, key=key) if isinstance(url, str) and len(key) == KEY_BYTES else None


def attempt_token(key: bytes, job: JobId, attempt: int, run: str) -> str:
    """The token of an attempt. The run is part of it, because jobs of two databases may have the same id."""
    digest = hmac.digest(key, json.dumps([job, attempt, run]).encode(), "sha256")
    return f"muster_attempt_{job}_{attempt}_{MARK}{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def secret_part(token: str) -> str:
    """What must not be shown of a token of an attempt."""
    return token[token.rindex(MARK) :]


def claim_of(text: str) -> AttemptClaim | None:
    """The attempt that a token says it belongs to; None when it is not the token of an attempt."""
    match = _SHAPE.fullmatch(text)
    return None if match is None else AttemptClaim(job=JobId(match[1]), attempt=int(match[2]))
