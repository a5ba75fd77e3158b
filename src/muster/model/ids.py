"""Names of things. Each is a plain string on the wire and a distinct type in the code."""

import re
from typing import NewType

JobId = NewType("JobId", str)
NodeName = NewType("NodeName", str)
TeamPath = NewType("TeamPath", str)
"""A path in the team tree, such as `nlp/pretraining`."""
TierName = NewType("TierName", str)
PoolName = NewType("PoolName", str)
GpuType = NewType("GpuType", str)
EngineName = NewType("EngineName", str)
"""What starts processes on some nodes: this machine, or a configured Slurm, Kubernetes or Ray cluster."""
TokenId = NewType("TokenId", str)
LevelName = NewType("LevelName", str)
"""A level of the topology tree, such as `rack`; `node` is always the innermost."""

NODE_LEVEL = LevelName("node")
LOCAL_ENGINE = EngineName("local")
DEFAULT_POOL = PoolName("main")

_NUMBER = re.compile("0*([0-9]+)")


def natural(name: str) -> str:
    """A sort key under which job-9 comes before job-10 and n2 before n10, as people number things.

    Before each number stands a character that encodes the length of the number and sorts before all other characters.
    Different names have different keys: the name itself at the end separates names that differ only in leading zeros.
    """
    return f"{_NUMBER.sub(_counted, name)}\0{name}"


def _counted(number: re.Match[str]) -> str:
    return chr(len(number[1])) + number[1]
