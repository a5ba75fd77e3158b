"""Who may do what: tokens and the roles they are bound to. The model never holds a secret itself, only its digest."""

from enum import StrEnum

from muster.model.ids import TeamPath, TokenId
from muster.model.records import Record

EVERY_TEAM = TeamPath("*")
"""A role that is bound to it holds on the whole cluster."""


class Role(StrEnum):
    """What a person or program may do. Each role may do more than the role before it."""

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
    """What lets a person or program in."""

    id: TokenId
    name: str
    """A label that its maker chose. It says nothing about who acts, unless `subject` is empty."""
    digest: str
    """The SHA-256 of the secret in hexadecimal."""
    bindings: tuple[Binding, ...]
    created_ms: int
    expires_ms: int | None = None
    """None means never."""
    revoked_ms: int | None = None
    scopes: tuple[str, ...] = ()
    """The only permissions it has out of those its roles give; empty means all of them."""
    subject: str = ""
    """Who acts with it: everything done with the token is done in this name. Empty means that `name` is used."""
    maker: TokenId | None = None
    """The token that made this token. When the maker is revoked, this token is revoked too."""

    @property
    def acts_as(self) -> str:
        """Who acts with it."""
        return self.subject or self.name


RESERVED_SUBJECTS = frozenset(
    {"admin", "administrator", "configuration", "engine", "muster", "operator", "root", "scheduler", "system"}
)
"""Names that no token may act as. Muster acts under some of them; people would take others for the operators."""


def is_reserved(subject: str) -> bool:
    """True for a name that no token may act as, also below a team: `root`, `nlp/Root`."""
    return subject.rpartition("/")[2].lower() in RESERVED_SUBJECTS


def covers(outer: TeamPath, inner: TeamPath) -> bool:
    """True when a role on `outer` holds on `inner`: the same team, a team below it, or the whole cluster."""
    return outer in (EVERY_TEAM, inner) or inner.startswith(outer + "/")
