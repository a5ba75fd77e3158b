"""How a job got where it is."""

from pydantic import Field

from muster.api.schemas.base import Schema, Time


class Sentence(Schema):
    """One thing that happened to a job."""

    at: Time
    kind: str = Field(description="The kind of event that it tells of.", examples=["job_started"])
    state: str | None = Field(description="Of the job afterwards; null for an array.", examples=["starting"])
    text: str = Field(description="What happened and what came of it.", examples=["starts on n[1-2] with 16 GPUs"])
    times: int = Field(description="How often it happened in a row; `at` is the last time.", examples=[1])


class Story(Schema):
    """How a job got where it is, oldest first."""

    job: str
    state: str = Field(description="As it is now.")
    sentences: list[Sentence]
    left_out: int = Field(description="Sentences that are left out behind the first, where there are very many.")
