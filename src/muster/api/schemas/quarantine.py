"""What is in quarantine, as it is sent."""

from pydantic import Field

from muster.api.schemas.base import Schema
from muster.api.schemas.jobs import Worker


class QuarantinedGang(Schema):
    """What nodes run of a job that nobody here has started."""

    job: str
    attempt: int
    name: str | None = Field(description="From its job file; null where no node has kept it.")
    team: str | None
    state: str | None = Field(description="Of the job with this id, if there is one.")
    workers: list[Worker]
