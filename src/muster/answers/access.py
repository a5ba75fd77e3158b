"""Who somebody is, their tokens, and who did what."""

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
    """Who you are."""

    name: Annotated[str, NEEDED]
    """Who acts: what you do is done in this name. The same as `subject`."""
    subject: str
    label: str
    """What the token is called."""
    bindings: Annotated[tuple[Any, ...], Items(Binding)]
    scopes: tuple[str, ...]
    """The only permissions the token has; empty means all of its roles'."""
    token: str
    """The id of the token."""
    expires: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Answer):
    """A token, without what it opens doors with."""

    id: Annotated[str, NEEDED]
    name: str
    subject: str
    """Who acts with it."""
    maker: str | None
    """The id of the token that it was made with, and with which it is revoked."""
    bindings: Annotated[tuple[Any, ...], Items(Binding)]
    scopes: tuple[str, ...]
    created: Time
    expires: Time | None
    revoked: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshToken(Token):
    """A token that was just made."""

    secret: Annotated[str | None, SENT]
    """Shown this once, and never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry(Answer):
    """Who did what."""

    seq: Annotated[int, NEEDED]
    at: Time
    by: str
    action: Annotated[str, Example("jobs.cancel")]
    subject: str
    detail: dict[str, str]
    """What else is worth knowing; `outcome` is `done` or `denied`."""
    reason: str
    """What they said it was for."""
    version: int
    """Of the log, once it was written."""
    chain: str
    """The digest over this entry and all before it."""
