"""Events as they are sent."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Example, Time


@cache
def kind_of(name: str) -> str:
    """The kind of an event as it is sent: `job_submitted` for `JobSubmitted`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Answer):
    """One event of the log. Further fields depend on the kind and are in `document`."""

    version: Annotated[int, NEEDED]
    """Its number in the log. To resume, ask for events after it."""
    at: Time
    kind: Annotated[str, Example("job_started")]
    job: str | None
    """The job or the array that the event is about."""
    team: str | None
    user: str | None
    """Who submitted the job."""
    by: str | None
    """Who asked for this."""
