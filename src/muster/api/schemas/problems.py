"""Problem documents (RFC 9457)."""

from pydantic import Field

from muster.api.schemas.base import Schema


class FieldError(Schema):
    """One mistake in the input."""

    field: str = Field(description="Where in the body, the query or the file.", examples=["resources.gpus"])
    problem: str = Field(examples=["must be a number of GPUs such as 8 or 0.25, not 'eight'"])
    hint: str | None = None
    line: int | None = Field(default=None, description="Of the file, where there is one.")
    file: str | None = None


class Problem(Schema):
    """What was wrong, where, and what to do."""

    type: str = Field(description="A name for this kind of problem.", examples=["urn:muster:problem:not_found"])
    title: str
    status: int = Field(ge=400, le=599)
    detail: str = Field(description="For people.")
    code: str = Field(description="For programs; stable.", examples=["not_found"])
    retry_helps: bool = Field(description="True when the same request may work later.")
    errors: list[FieldError] | None = Field(default=None, description="Each thing that is wrong as written.")
    incident: str | None = Field(default=None, description="What the server's log calls an error that is not yours.")
