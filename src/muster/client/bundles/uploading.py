"""Sends a bundle to the server: first its manifest, then the blocks that the server does not have."""

from collections.abc import Iterator, Sequence

from muster.client.bundles.packing import PackedFolder
from muster.client.transport import Transport
from muster.model.errors import InvalidInput
from muster.worker.bundles.manifest import BLOCK_BYTES
from muster.worker.bundles.store import joined_blocks

BLOCKS_AT_ONCE = 1000
"""Blocks in one request. Together they are at most as long as the largest block."""

ROUNDS = 3
"""How often the server may say that blocks are missing. Once is usual; twice when it removed some meanwhile."""


def upload(wire: Transport, packed: PackedFolder, team: str | None) -> None:
    """Have the server store a bundle for a team. Blocks that it has are not sent again."""
    query = {"team": team}
    for _ in range(ROUNDS):
        answer = wire.json("POST", "/v1/bundles", query=query, content=packed.manifest.text)
        missing = [str(each) for each in answer.get("missing", [])]
        if not missing:
            return
        for blocks in _batches(packed, missing):
            wire.json("POST", "/v1/bundles/blocks", query=query, content=joined_blocks(blocks))
    raise InvalidInput(f"the files of {packed.folder} could not be stored on the server; submit the job again")


def _batches(packed: PackedFolder, names: Sequence[str]) -> Iterator[list[bytes]]:
    """The blocks, as many together as fit into one request."""
    batch: list[bytes] = []
    size = 0
    for block in packed.contents(names):
        if batch and (size + len(block) > BLOCK_BYTES or len(batch) >= BLOCKS_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(block)
        size += len(block)
    if batch:
        yield batch
