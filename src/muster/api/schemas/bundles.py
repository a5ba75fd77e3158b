"""Which parts of files are asked for."""

from typing import Annotated

from pydantic import Field

from muster.api.schemas.base import Schema
from muster.worker.bundles.store import ASKED_MOST

BlockName = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="The SHA-256 of a block.")]


class WantedBlocks(Schema):
    """Blocks of a bundle, in the order in which they are wanted."""

    names: list[BlockName] = Field(min_length=1, max_length=ASKED_MOST)
