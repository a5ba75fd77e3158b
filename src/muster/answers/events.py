"""What happens, as it is told."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Example, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Answer):
    """One fact of the log. What else there is to say depends on the kind, and is in `document`."""

    version: Annotated[int, NEEDED]
    """Its number in the log; resume after it."""
    at: Time
    kind: Annotated[str, Example("job_started")]
    job: str | None
    """The job or the array it is about."""
    team: str | None
    user: str | None
    """Who submitted the job."""
    by: str | None
    """Who asked for this."""
