"""A partition of Slurm."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from muster.formats.parts.kinds import Name, Text
from muster.formats.rules.engines.entry import PYTHON, NodesSettings, NodesWire, beside
from muster.formats.text.document import Problems
from muster.formats.text.yaml_text import Loc
from muster.model.ids import DEFAULT_POOL, EngineName, LevelName, PoolName
from muster.model.limits import TOPOLOGY_LEVELS

OPTIONS_MOST = 32
"""More options than an operator adds to every job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmPartition(NodesSettings):
    """Which part of a Slurm is used, and how it is reached."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    programs: Path | None = None
    config: Path | None = None
    output: Path | None = None
    options: tuple[str, ...] = ()


class SlurmWire(NodesWire):
    """A partition of Slurm, whose nodes need not be described; see [the guide](../guides/slurm.md)."""

    kind: Literal["slurm"]
    partition: Text | None = None
    """The partition whose nodes are used; it has to be given."""
    account: Text | None = None
    """The account that jobs are charged to."""
    qos: Text | None = None
    """The quality of service of jobs."""
    programs: Text | None = None
    """The folder with Slurm's programs. Left out: the first on the path that are not Muster's own."""
    config: Text | None = None
    """Its slurm.conf. Left out: where its programs look by themselves."""
    agent: Text | None = None
    """Where all nodes find the file that `muster agent write` writes. Left out: it is sent with each job."""
    output: Text | None = None
    """A folder on the nodes for what agents say, to find out why one does not start. Left out: none."""
    options: Annotated[list[Text], Field(max_length=OPTIONS_MOST)] = Field(default_factory=list)
    """Further options of sbatch for every job."""
    levels: Annotated[list[Name], Field(max_length=TOPOLOGY_LEVELS)] = Field(default_factory=list)
    """What its levels of switches are called here, outermost first, if `cluster` has no levels."""

    def settings(self, folder: Path) -> SlurmPartition:
        """The settings that it stands for."""
        return SlurmPartition(
            name=EngineName(self.name),
            url=self.url or "",
            ca=beside(folder, self.ca),
            python=self.python or PYTHON,
            pool=PoolName(self.pool or DEFAULT_POOL),
            levels=tuple(map(LevelName, self.levels)),
            partition=self.partition or "",
            account=self.account or "",
            qos=self.qos or "",
            programs=beside(folder, self.programs),
            config=beside(folder, self.config),
            agent=self.agent or "",
            output=None if self.output is None else Path(self.output),
            options=tuple(self.options),
        )

    def check(self, problems: Problems, at: Loc) -> None:
        """A partition has to be named."""
        if not self.partition:
            problems.add((*at, "partition"), "is required for Slurm", "`sinfo -s` lists the partitions")
