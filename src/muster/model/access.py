"""Who may do what: tokens and the roles they are bound to. A secret itself is never a value here, only its digest."""

from enum import StrEnum

from muster.model.ids import TeamPath, TokenId
from muster.model.records import Record

EVERY_TEAM = TeamPath("*")
"""Bound to it, a role holds on the whole cluster."""


class Role(StrEnum):
    """What somebody may do, each a little more than the one before."""

    VIEWER = "viewer"
    MEMBER = "member"
    LEAD = "lead"
    OPERATOR = "operator"
    ADMIN = "admin"


class Binding(Record, frozen=True, kw_only=True):
    """A role on a team and all teams below it, or on `EVERY_TEAM`."""

    role: Role
    team: TeamPath = EVERY_TEAM


class Token(Record, frozen=True, kw_only=True):
    """What lets somebody in."""

    id: TokenId
    name: str
    """Who it is for: what it does is done in this name."""
    digest: str
    """The SHA-256 of the secret in hexadecimal."""
    bindings: tuple[Binding, ...]
    created_ms: int
    expires_ms: int | None = None
    """None means never."""
    revoked_ms: int | None = None
    scopes: tuple[str, ...] = ()
    """The only permissions it has of those its roles give; empty means all of them."""
