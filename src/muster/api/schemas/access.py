"""Tokens to be made, and queries of the audit."""

from typing import Annotated

from pydantic import Field

from muster.access.permissions import Permission
from muster.api.rendering.times import moment_ms
from muster.api.schemas.base import STORABLE, Paging, Schema
from muster.api.schemas.jobs import Moment
from muster.formats.parts.wire import ID_CHARS
from muster.model.access import Role
from muster.model.limits import TOKEN_BINDINGS, TOKEN_SECONDS, TOKEN_SECONDS_MAX
from muster.store.base import AuditFilter

SUBJECT = r"^([^\x00-\x20\x7f-\x9f]+/)?[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$"
"""The name of a person, or of a service of a team, such as `nlp/ci`."""

TOKEN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$"


class NewBinding(Schema):
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


class NewToken(Schema):
    """A token to be made."""

    name: str = Field(pattern=TOKEN_NAME, description="What it is called; an admin's is also who acts with it.")
    subject: str | None = Field(
        default=None,
        max_length=ID_CHARS,
        pattern=SUBJECT,
        description="Who acts with it: what it does is done in this name. An admin may give that of a person; "
        "everybody their own, or that of a service of its team, such as `nlp/ci`, which it is when nothing is said.",
        examples=["nlp/ci"],
    )
    bindings: list[NewBinding] = Field(min_length=1, max_length=TOKEN_BINDINGS)
    scopes: list[Permission] = Field(
        default_factory=list, max_length=len(Permission), description="The only permissions it is to have."
    )
    expires_in_s: Annotated[float, Field(gt=0, le=TOKEN_SECONDS_MAX)] | None = Field(
        default=TOKEN_SECONDS,
        description="Without it, 90 days; null, which is for admins, is until it is revoked.",
    )


class SignIn(Schema):
    """What a browser signs in with: the code of a link, or a token."""

    code: str | None = Field(default=None, min_length=1, max_length=100, description="From `muster open`.")
    token: str | None = Field(default=None, min_length=1, max_length=200)


class AuditChoice(Schema):
    """Which entries of the audit: those that match all given filters."""

    by: str | None = Field(default=None, max_length=ID_CHARS, pattern=STORABLE)
    action: str | None = Field(default=None, max_length=ID_CHARS, pattern=STORABLE)
    subject: str | None = Field(default=None, max_length=ID_CHARS, pattern=STORABLE)
    since: Moment | None = Field(default=None, description="Written then or later.")
    until: Moment | None = Field(default=None, description="Written before then.")

    @property
    def wanted(self) -> AuditFilter:
        """The same for the store."""
        return AuditFilter(
            by=self.by,
            action=self.action,
            subject=self.subject,
            since_ms=None if self.since is None else moment_ms(self.since),
            until_ms=None if self.until is None else moment_ms(self.until),
        )


class AuditFilters(Paging, AuditChoice):
    """Which entries of the audit to list, and in which order."""

    newest_first: bool = Field(default=False, description="Else the oldest come first.")


class AuditHead(Schema):
    """The end of the audit. Keep it elsewhere: with it you can check later whether anything before it was changed."""

    seq: int = Field(description="The number of the last entry; 0 when there is none.")
    chain: str = Field(description="The digest over that entry and all before it.")


class NotedHead(Schema):
    """The end of the audit as you noted it earlier."""

    seq: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    chain: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class Verdict(Schema):
    """Whether all entries and events are still as they were written."""

    whole: bool
    entries: int = Field(description="Entries that are whole, from the first on.")
    events: int
    problems: list[str]
