"""The steps of a batch job, which Slurm accounts one by one."""

from dataclasses import dataclass
from typing import Annotated

from muster.answers.base import Answer
from muster.answers.marks import NEEDED, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStep(Answer):
    """The script of a batch job, or what one `srun` in it started."""

    step: Annotated[str, NEEDED]
    """Its number; `batch` for the script."""
    name: str
    """Its program."""
    tasks: int
    cpus: int
    gpus: int
    nodes: tuple[str, ...]
    started: Time
    ended: Time | None
    """Null for a step that runs, or that was ended with its job."""
    exit_code: int | None
    """The highest of its tasks, 128 and the signal for one that died of it; null where nobody knows."""
    max_rss_bytes: int | None
    """The most memory that one of its tasks had; null where that is not known."""
    max_rss_task: int | None
    max_rss_node: str | None
    cpu_s: float | None
    """The processor time of all its tasks."""
