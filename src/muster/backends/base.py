"""The port to a backend, which starts processes on nodes.

The contract that every adapter fulfils. It lets either side forget or repeat itself:

- **Fenced.** A command whose generation is older than the newest one seen for its job is refused without effect.
- **Idempotent.** A command that was carried out already changes nothing. What is known of the workers it names is
  reported again, so that sending the command again makes up for a lost report.
- **Honest about the unknown.** A stop or a kill for a worker that was never started is answered with `StartFailed`.
- **One attempt at a time.** Starting a newer attempt ends whatever is left of an older one, without a report. A command
  for an older attempt starts and ends nothing. It is answered with `StartFailed` for the workers of that attempt that
  are gone.
- **No GPU given out twice.** A start on a GPU that has too little left on the node is answered with `StartFailed`,
  whichever control plane asks.
- **Silent about what it cannot see.** A node that cannot be contacted is reported as unreachable. Its workers are not
  reported before they are known to be gone: one by one when the node is back, or all at once as a lost node.
- **Lost means gone.** A node is reported as lost when every process on it has ended: the machine is off, or the node
  was swept or fenced.
- **Told twice.** What ran on a lost node is to be killed by a command, and again once the node is back. Then an older
  command that was on its way there comes too late.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from muster.model.events import ObservedEvent
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command
from muster.model.spec import JobSpec
from muster.model.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPart:
    """A part of what a worker printed."""

    data: bytes
    start: int
    """The offset of the first byte; larger than asked for when what was asked for is no longer kept."""
    end: int
    """The offset to ask for next."""
    is_complete: bool
    """True when there is nothing after `end` and there will not be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCheckpoint:
    """A checkpoint as it is found in storage."""

    step: int
    ranks: int
    bytes: int = 0
    saved_ms: int | None = None
    is_complete: bool = False
    is_verified: bool | None = None
    """Whether all files agree with their checksums; None when that was not looked at."""
    places: tuple[str, ...] = ()
    """Where it was found: `hot`, `durable`."""
    problems: tuple[str, ...] = ()
    unread: str = ""
    """Why durable storage could not be looked at; empty when it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """What a training measured of itself at one step."""

    attempt: int
    at_ms: int
    step: int
    values: Mapping[str, float]
    no_numbers: tuple[str, ...] = ()
    """What it measured and was no number: a loss that has become infinite or undefined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStep:
    """A step of a batch job: its script, or what an `srun` in it started."""

    step: str
    """Its number; `batch` for the script."""
    name: str
    """Its program."""
    began_ms: int
    tasks: int
    cpus: int
    gpus: int
    nodes: tuple[str, ...]
    ended_ms: int | None = None
    """None for a step that runs, or that was ended with its job."""
    code: int | None = None
    max_rss_bytes: int | None = None
    """The most memory that a process of it had; None where that is not known."""
    max_rss_task: int | None = None
    max_rss_node: str = ""
    cpu_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A command to run beside a worker, in its place."""

    rank: int
    line: str
    """What a shell runs."""
    has_terminal: bool = False


class Terminal(Protocol):
    """A user's connection to the terminal of a worker, or to a command beside it.

    Calls may wait: one thread reads, another writes.
    """

    @property
    def exit_code(self) -> int | None:
        """How a command beside a worker ended; None while it runs, and when it could not be started."""
        ...

    @property
    def over(self) -> str:
        """Why there is no more output; empty while there may be."""
        ...

    def read(self) -> bytes:
        """Wait for more output; empty when there will be none, also once it was closed."""
        ...

    def type(self, data: bytes) -> None:
        """Type this."""
        ...

    def resize(self, rows: int, columns: int) -> None:
        """The window has another size."""
        ...

    def end_input(self) -> None:
        """Nothing more will be typed."""
        ...

    def close(self) -> None:
        """Detach, and let `read` return. The job goes on; a command beside it is ended."""
        ...


class Backend(Protocol):
    """Starts, stops and watches workers."""

    def send(self, command: Command) -> None:
        """Take a command to carry out. Returns before it is done; the outcome is reported."""
        ...

    def poll(self) -> tuple[ObservedEvent, ...]:
        """What was observed since the last call, in the order it happened. Never waits."""
        ...


class LiveBackend(Backend, Protocol):
    """What a control plane needs: reports are kept until they are recorded, and users see what workers print."""

    @property
    def has_caught_up(self) -> bool:
        """True once everything that happened while no control plane listened was polled or can be."""
        ...

    def acknowledge(self) -> None:
        """Everything that was polled so far is in the log."""
        ...

    def telemetry(self) -> tuple[Telemetry, ...]:
        """What nodes measured since the last call, of each thing the newest value. Never waits."""
        ...

    def decided(self) -> None:
        """The control plane acted on whatever is due. Without this call, nodes enforce limits by themselves."""
        ...

    def read_output(self, job: JobId, attempt: int, rank: int, offset: int, limit: int) -> OutputPart:
        """At most `limit` bytes of what a worker printed, from an offset on; a negative one counts from the end.

        Called on separate threads, because it may wait for a disk. Raises `NotFound` when the worker printed nothing.
        """
        ...

    def measured_steps(self, job: JobId, attempts: int) -> tuple[MeasuredStep, ...]:
        """What the attempts of a job measured of themselves, oldest first. Called on separate threads."""
        ...

    def batch_steps(self, job: JobId, attempt: int) -> tuple[BatchStep, ...]:
        """The steps of an attempt of a batch job, as they began. Called on separate threads."""
        ...

    def stored_checkpoints(
        self, spec: JobSpec, run: str, *, step: int | None = None, verify: bool = False
    ) -> tuple[FoundCheckpoint, ...]:
        """What is in storage of a run, or of one step, oldest first. `verify` reads all files, which takes long.

        Called on separate threads. Files are read by a process with the environment of the job, which has the job's
        credentials.
        """
        ...

    def remove_checkpoint(self, spec: JobSpec, run: str, step: int) -> None:
        """Remove the files of a checkpoint everywhere, as far as they are there. Called on separate threads."""
        ...

    def stacks(self, job: JobId, timeout_s: float) -> dict[int, str]:
        """What every process of a job is doing now, by its rank in the framework, innermost call first.

        Called on separate threads, because it waits for nodes, for `timeout_s` at most. Processes that cannot be asked,
        and those of nodes that do not answer, are left out.
        """
        ...

    def signal(self, job: JobId, number: int, *, script_only: bool = False) -> None:
        """Send a signal to the processes of a job, or only to the shell of its batch script. Never waits."""
        ...

    def end_runs(self, runs: Iterable[str]) -> None:
        """These runs are over for good: their hot checkpoints are removed once they are copied. Never waits."""
        ...

    def pull_ahead(self, node: NodeName, images: tuple[str, ...]) -> None:
        """Jobs with these images are to start on a node soon. It is a hint, which may be lost. Never waits."""
        ...

    def fenced(self, node: NodeName, because: str) -> None:
        """Somebody says that a node which cannot be reached is off: nothing of what it ran is left. Never waits.

        Then it is reported as lost, unless it can be reached again by now.
        """
        ...

    def attach(self, job: JobId, beside: Beside | None = None) -> Terminal:
        """Attach to the terminal of a job's first worker, or run a command beside one of its workers.

        Raises `NotFound` when there is no such worker, or it has no terminal.
        """
        ...
