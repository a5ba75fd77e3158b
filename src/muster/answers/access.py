"""Identities, tokens, and who did what."""

from dataclasses import dataclass
from typing import Annotated, Any

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, SENT, Example, Items, Time, Word
from muster.model.access import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding(Answer):
    """A role on a team and all teams below it."""

    role: Annotated[str, Word(Role)]
    team: Annotated[str, Example("nlp")]
    """`*` is the whole cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity(Answer):
    """Who you are, as your token says."""

    name: Annotated[str, NEEDED]
    """The name in which you act. The same as `subject`."""
    subject: str
    label: str
    """The name of the token."""
    bindings: Annotated[tuple[Any, ...], Items(Binding)]
    scopes: tuple[str, ...]
    """The only permissions that the token has; empty means all permissions of its roles."""
    token: str
    """The id of the token."""
    expires: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Answer):
    """A token, without its secret."""

    id: Annotated[str, NEEDED]
    name: str
    subject: str
    """The name in which the token acts."""
    maker: str | None
    """The id of the token that it was made with. If that token is revoked, this one is revoked too."""
    bindings: Annotated[tuple[Any, ...], Items(Binding)]
    scopes: tuple[str, ...]
    created: Time
    expires: Time | None
    revoked: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshToken(Token):
    """A token that was just made."""

    secret: Annotated[str | None, SENT]
    """Shown only in this answer, and never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLink(Answer):
    """A link that signs a browser in."""

    path: Annotated[str, NEEDED]
    """What follows the address of the server. The code is behind `#`, so that no server and no log gets it."""
    expires: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Answer):
    """A browser that has signed in. The other half of its secret is in a cookie."""

    page: Annotated[str, NEEDED]
    """What the page sends as `X-Muster-Page` with each request."""
    name: str
    expires: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(Answer):
    """Who did what."""

    seq: Annotated[int, NEEDED]
    at: Time
    by: str
    action: Annotated[str, Example("jobs.cancel")]
    subject: str
    detail: dict[str, str]
    """More about the action; `outcome` is `done` or `denied`."""
    reason: str
    """The reason that the caller gave."""
    version: int
    """The version of the log once the action was written."""
    chain: str
    """The digest over this entry and all entries before it."""
