"""Posts: where one supervisor serves. A node of this machine is one, and so is each node of an allocation.

A node may have several posts at a time, one for each allocation that has a part of it.
"""

import secrets

from muster.backends.allocations.engine import AllocationId
from muster.model.ids import NodeName

AT = "@"
"""Between the id of an allocation and the node. No name of a node has it."""


def new_id() -> AllocationId:
    """An id for a request that is about to be made."""
    return AllocationId(secrets.token_hex(8))


def post_of(allocation: AllocationId, node: NodeName) -> NodeName:
    """The name of the post of an allocation on a node, which stands wherever the name of a node with an agent does."""
    return NodeName(f"{allocation}{AT}{node}")
