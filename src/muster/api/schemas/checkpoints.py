"""What is asked about checkpoints."""

from typing import Annotated

from pydantic import Field

from muster.api.schemas.base import Schema
from muster.train.store.steps import STEP_MOST


class WhichStep(Schema):
    """Which checkpoint is meant."""

    step: Annotated[int, Field(ge=0, le=STEP_MOST)] | None = None
    """The training step; null means all."""
