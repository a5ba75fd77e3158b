"""Who somebody is, their tokens, and who did what."""

from typing import Annotated

from pydantic import Field

from muster.access.permissions import Permission
from muster.api.schemas.base import STORABLE, Paging, Schema, Time
from muster.formats.wire import ID_CHARS
from muster.model.access import Role
from muster.model.limits import TOKEN_BINDINGS, TOKEN_SECONDS_MAX

TOKEN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$"


class Binding(Schema):
    """A role on a team and all teams below it."""

    role: Role
    team: str = Field(
        default="*",
        min_length=1,
        max_length=ID_CHARS,
        pattern=STORABLE,
        description="`*` is the whole cluster.",
        examples=["nlp"],
    )


class Identity(Schema):
    """Who you are."""

    name: str
    bindings: list[Binding]
    scopes: list[str] = Field(description="The only permissions the token has; empty means all of its roles'.")
    token: str = Field(description="The id of the token.")
    expires: Time | None


class NewToken(Schema):
    """A token to be made."""

    name: str = Field(pattern=TOKEN_NAME, description="Who it is for: what it does is done in this name.")
    bindings: list[Binding] = Field(min_length=1, max_length=TOKEN_BINDINGS)
    scopes: list[Permission] = Field(
        default_factory=list, max_length=len(Permission), description="The only permissions it is to have."
    )
    expires_in_s: Annotated[float, Field(gt=0, le=TOKEN_SECONDS_MAX)] | None = Field(
        default=None, description="Without it, the token is good until it is revoked."
    )


class Token(Schema):
    """A token, without what it opens doors with."""

    id: str
    name: str
    bindings: list[Binding]
    scopes: list[str]
    created: Time
    expires: Time | None
    revoked: Time | None


class FreshToken(Token):
    """A token that was just made."""

    secret: str = Field(description="Shown this once, and never again.")


class AuditEntry(Schema):
    """Who did what."""

    seq: int
    at: Time
    by: str
    action: str = Field(examples=["jobs.cancel"])
    subject: str
    detail: dict[str, str] = Field(description="What else is worth knowing; `outcome` is `done` or `denied`.")
    reason: str = Field(description="What they said it was for.")
    version: int = Field(description="Of the log, once it was written.")
    chain: str = Field(description="The digest over this entry and all before it.")


class AuditFilters(Paging):
    """Which entries of the audit: those that agree with everything given."""

    by: str | None = Field(default=None, max_length=ID_CHARS, pattern=STORABLE)
    action: str | None = Field(default=None, max_length=ID_CHARS, pattern=STORABLE)
    subject: str | None = Field(default=None, max_length=ID_CHARS, pattern=STORABLE)


class Verdict(Schema):
    """Whether everything that is kept is what was written."""

    whole: bool
    entries: int = Field(description="Entries that are whole, from the first on.")
    events: int
    problems: list[str]
