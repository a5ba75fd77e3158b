"""Names of things. Each is a plain string on the wire and a distinct type in the code."""

from typing import NewType

JobId = NewType("JobId", str)
NodeName = NewType("NodeName", str)
TeamPath = NewType("TeamPath", str)
"""A path in the team tree, such as `nlp/pretraining`."""
TierName = NewType("TierName", str)
PoolName = NewType("PoolName", str)
GpuType = NewType("GpuType", str)
TokenId = NewType("TokenId", str)
LevelName = NewType("LevelName", str)
"""A level of the topology tree, such as `rack`; `node` is always the innermost."""

NODE_LEVEL = LevelName("node")
DEFAULT_POOL = PoolName("main")
