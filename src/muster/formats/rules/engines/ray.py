"""A Ray cluster."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from muster.formats.parts.kinds import Name, Text
from muster.formats.rules.engines.entry import NodesSettings, NodesWire, beside
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.ids import DEFAULT_POOL, EngineName, LevelName, PoolName
from muster.model.limits import TOPOLOGY_LEVELS

_ADDRESS = re.compile(r"[^\s:/]+:[0-9]{1,5}|\[[0-9a-fA-F:]+\]:[0-9]{1,5}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCluster(NodesSettings):
    """Which Ray cluster is used, and how it is reached."""

    address: str = ""
    driver: str = ""
    """Empty for the Python that the server runs with."""
    output: Path | None = None
    level_labels: tuple[str, ...] = ()


class RayWire(NodesWire):
    """A Ray cluster, whose nodes need not be described; see [the guide](../guides/ray.md)."""

    kind: Literal["ray"]
    address: Text | None = None
    """Where the head of the cluster listens, such as `10.0.0.1:6379`; it has to be given."""
    driver: Text | None = None
    """A Python of this machine that has Ray in the version of the cluster. Left out: the one of the server."""
    output: Text | None = None
    """A folder on the nodes for what agents say, to find out why one does not start. Left out: none."""
    levels: Annotated[dict[Name, Text], Field(max_length=TOPOLOGY_LEVELS)] = Field(default_factory=dict)
    """Levels of the topology with the labels of nodes that say them, outermost first: `{rack = "topology/rack"}`."""

    def settings(self, folder: Path) -> RayCluster:
        """The settings that it stands for."""
        return RayCluster(
            name=EngineName(self.name),
            url=self.url or "",
            ca=beside(folder, self.ca),
            python=self.python or "",
            pool=PoolName(self.pool or DEFAULT_POOL),
            levels=tuple(map(LevelName, self.levels)),
            address=self.address or "",
            driver=self.driver or "",
            output=None if self.output is None else Path(self.output),
            level_labels=tuple(self.levels.values()),
        )

    def check(self, problems: Problems, at: Loc) -> None:
        """An address has to be given, and to be that of a head."""
        if not self.address:
            problems.add((*at, "address"), "is required for Ray", "`ray status` and `ray start --head` print it")
        elif _ADDRESS.fullmatch(self.address) is None:
            problem = f"{self.address!r} is not the address of a head"
            problems.add((*at, "address"), problem, "write a host and a port: 10.0.0.1:6379")
