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
    """What its maker calls it. A label: it says nothing about who acts."""
    digest: str
    """The SHA-256 of the secret in hexadecimal."""
    bindings: tuple[Binding, ...]
    created_ms: int
    expires_ms: int | None = None
    """None means never."""
    revoked_ms: int | None = None
    scopes: tuple[str, ...] = ()
    """The only permissions it has of those its roles give; empty means all of them."""
    subject: str = ""
    """Who acts with it: what it does is done in this name. Empty means that it is called as it acts."""
    maker: TokenId | None = None
    """The token that it was made with, and with which it is revoked."""

    @property
    def acts_as(self) -> str:
        """Who acts with it."""
        return self.subject or self.name


RESERVED_SUBJECTS = frozenset(
    {"admin", "administrator", "configuration", "engine", "muster", "operator", "root", "scheduler", "system"}
)
"""Names that nobody is given: Muster acts under some, and people take others for those who run the machine."""


def is_reserved(subject: str) -> bool:
    """True for a name that no token may act in, also below a team: `root`, `nlp/Root`."""
    return subject.rpartition("/")[2].lower() in RESERVED_SUBJECTS


def covers(outer: TeamPath, inner: TeamPath) -> bool:
    """True when what holds on the one team holds on the other: the same, below it, or the whole cluster."""
    return outer in (EVERY_TEAM, inner) or inner.startswith(outer + "/")
