"""The tokens of one attempt of a job: its own, and that of its agents. They are derived from a key of the home.

The server keeps the key, and the address at which jobs reach it, in a file of the home that only its user can read. The
supervisor of a node derives the token of an attempt that it starts, and the server derives it again to check one. It is
written `muster_attempt_<job>_<number>_~<secret>`, so that a person who finds one knows what it was for.

Agents that an engine starts for the attempt show `muster_agent_<allocation>_~<secret>`. It connects them and may do
nothing else.
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

AUTHORITIES = "MUSTER_AUTHORITIES"
"""The variable of a supervisor elsewhere that names a file with the certificate authorities to trust when the server is
asked; those of the machine otherwise."""

MARK = "~"
"""Stands before the secret part. What may be the beginning of a secret is kept back from terminals, so it is rare."""

_SHAPE = re.compile(r"muster_attempt_([!-~]{1,200})_([0-9]{1,9})_~[A-Za-z0-9_-]{43}")

_AGENT_SHAPE = re.compile(r"muster_agent_([0-9a-f]{1,64})_~[A-Za-z0-9_-]{43}")


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
    return f"muster_attempt_{job}_{attempt}_{MARK}{_derived(key, [job, attempt, run])}"


def agent_token(key: bytes, allocation: str) -> str:
    """The token of the agents of an allocation."""
    return f"muster_agent_{allocation}_{MARK}{_derived(key, ['agents', allocation])}"


def agents_allocation(key: bytes, text: str) -> str:
    """The allocation whose agents have this token; empty when it is none, or was not derived from this key."""
    match = _AGENT_SHAPE.fullmatch(text)
    is_ours = bool(key) and match is not None and hmac.compare_digest(agent_token(key, match[1]), text)
    return match[1] if match is not None and is_ours else ""


def secret_part(token: str) -> str:
    """What must not be shown of a token of an attempt."""
    return token[token.rindex(MARK) :]


def claim_of(text: str) -> AttemptClaim | None:
    """The attempt that a token says it belongs to; None when it is not the token of an attempt."""
    match = _SHAPE.fullmatch(text)
    return None if match is None else AttemptClaim(job=JobId(match[1]), attempt=int(match[2]))


def _derived(key: bytes, what: list[object]) -> str:
    digest = hmac.digest(key, json.dumps(what).encode(), "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
