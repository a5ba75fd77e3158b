"""A job that is being put together from the options of a batch script."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something in a script that did not become part of the job, and what happens instead."""

    line: int
    text: str


@dataclass(slots=True)
class Draft:
    """A job that is being put together."""

    tiers: Mapping[str, str]
    pools: Collection[str] | None = None
    """The partitions that there are; None where no server was asked."""
    job: dict[str, Any] = field(default_factory=dict)
    batch: dict[str, Any] = field(default_factory=dict)
    """How the script is run."""
    variables: dict[str, str] = field(default_factory=dict)
    """Variables of Slurm that the options decide."""
    lines: dict[str, int] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    held: bool = False
    singleton: bool = False
    """It waits for all jobs of its name and user."""
    export: str = "ALL"
    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    cpus_per_task: int = 0
    cpus_per_gpu: int = 0
    gpu_type: str = ""
    gpus: dict[str, int] = field(default_factory=dict)
    """How many per `job`, `node` or `task`."""
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes per `node`, `cpu` or `gpu`."""

    def put(self, key: str, value: object, line: int) -> None:
        """Set a key of the job, and the line that it comes from."""
        self.job[key] = value
        self.lines[key] = line

    def note(self, line: int, text: str) -> None:
        """Say what was not taken over, and what happens instead."""
        self.notes.append(Note(line=line, text=text))
