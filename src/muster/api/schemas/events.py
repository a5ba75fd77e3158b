"""Events as they are sent."""

from typing import Any

from pydantic import ConfigDict, Field

from muster.api.schemas.base import Schema, Time
from muster.formats.parts.wire import ID_CHARS


class LogEvent(Schema):
    """One event of the log. Further fields depend on the kind."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Any] = Field(init=False)

    version: int = Field(description="Its number in the log. To resume, ask for events after it.")
    at: Time
    kind: str = Field(examples=["job_started"])
    job: str | None = Field(description="The job or the array that the event is about.")
    team: str | None
    user: str | None = Field(description="Who submitted the job.")
    by: str | None = Field(description="Who asked for this.")


class EventFilters(Schema):
    """Which events to watch."""

    after: int | None = Field(
        default=None, ge=0, le=2**62, description="Begin after this version. Without it, begin with what comes next."
    )
    job: str | None = Field(default=None, max_length=ID_CHARS, description="Of this job or array only.")
    team: str | None = Field(default=None, max_length=ID_CHARS, description="Of this team and those below it only.")
