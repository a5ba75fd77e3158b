"""What a batch job was given: its workers by node, and the CPUs and GPUs that its steps have of them. Pure.

It is a file in the box, so that `srun` finds it. Standard library only.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedWorker:
    """One worker of the job."""

    rank: int
    node: str
    gpus: tuple[int, ...] = ()
    tasks: int = 1
    """How many tasks it has places for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSignal:
    """The signal that announces the end of the job."""

    number: int
    script_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """How the batch script is run."""

    arguments: tuple[str, ...] = ()
    output: str = ""
    error: str = ""
    append: bool = False
    signal: EndSignal | None = None
    grace_ms: int = 0
    """How long it has when it is told to leave."""
    told: str = ""
    """The file that says why the job has to leave, once it has to."""
    commands: str = ""
    """The folder with `srun` and the other commands."""
    steps: str = ""
    """The file in which the steps of the job are written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Everything that the job was given."""

    box: str
    gang: str
    workers: tuple[AllocatedWorker, ...]
    tasks: int
    cpus_per_task: int = 1
    gpus_per_task: int = 0
    hosts: tuple[str, ...] = ()
    """Names of nodes that are this machine, so that they can be made to resolve."""
    script: ScriptRun = ScriptRun()
    variables: dict[str, str] = field(default_factory=dict)
    """The variables of Slurm in the first worker."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its nodes, each once, in the order of the workers."""
        return tuple(dict.fromkeys(worker.node for worker in self.workers))

    @property
    def launch_worker(self) -> AllocatedWorker:
        """The worker in which the script runs."""
        return min(self.workers, key=lambda worker: worker.rank)

    def on(self, node: str) -> tuple[AllocatedWorker, ...]:
        """The workers on a node."""
        return tuple(worker for worker in self.workers if worker.node == node)

    def cpus(self, worker: AllocatedWorker) -> int:
        """How many CPUs steps may have of a worker."""
        return worker.tasks * self.cpus_per_task


def allocation_text(allocation: Allocation) -> str:
    """The allocation as it is in its file."""
    return json.dumps(asdict(allocation))


def read_allocation(path: str) -> Allocation:
    """The inverse of `allocation_text`, from a file."""
    with open(path) as file:
        body: dict[str, Any] = json.load(file)
    script = dict(body.pop("script"))
    signal = script.pop("signal")
    workers = tuple(AllocatedWorker(**{**each, "gpus": tuple(each["gpus"])}) for each in body.pop("workers"))
    end_signal = None if signal is None else EndSignal(**signal)
    arguments = tuple(script.pop("arguments"))
    run = ScriptRun(**script, arguments=arguments, signal=end_signal)
    return Allocation(**{**body, "hosts": tuple(body["hosts"])}, workers=workers, script=run)


class StepUsage:
    """What steps that run have of the workers."""

    def __init__(self, allocation: Allocation) -> None:
        self._cpus = {worker.rank: allocation.cpus(worker) for worker in allocation.workers}
        self._gpus = {worker.rank: list(worker.gpus) for worker in allocation.workers}

    def free_cpus(self, rank: int) -> int:
        """The CPUs of a worker that no step has."""
        return self._cpus[rank]

    def free_gpus(self, rank: int) -> tuple[int, ...]:
        """The GPUs of a worker that no step has for itself."""
        return tuple(self._gpus[rank])

    def take(self, rank: int, cpus: int, gpus: Iterable[int]) -> None:
        """A step begins."""
        self._cpus[rank] -= cpus
        for gpu in gpus:
            self._gpus[rank].remove(gpu)

    def give_back(self, rank: int, cpus: int, gpus: Iterable[int]) -> None:
        """A step has ended."""
        self._cpus[rank] += cpus
        self._gpus[rank] = sorted((*self._gpus[rank], *gpus))
