"""What a worker needs before it can be started: command, environment, folders, limits."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.home import Home
from muster.model.errors import Refused
from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.limits import STOP_GRACE_MS
from muster.model.node_limits import SCRIPT_VARIABLE_BYTES
from muster.model.resources import Request
from muster.model.spec import Launch
from muster.worker.launch.command_lines import RUN, SETUP, SHELL, TOLD, limits_line, run_line, shell_command
from muster.worker.launch.environment import WorkerPlace, environment, hostfile, inherited
from muster.worker.launch.runtime_folder import claim, remove
from muster.worker.launch.secret_files import SecretMissing, secrets_of
from muster.worker.processes.cgroups import MEMORY, PIDS, Allowance, Cgroup, CgroupRoot, make_cgroup


class CannotStart(Exception):
    """A worker cannot be started; the message tells its user why."""


class Mistaken(CannotStart):
    """A worker cannot be started because of its own job file: a retry elsewhere or later will not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContext:
    """What workers need to know about their node."""

    home: Path
    workers: Path
    """The folder, outside of the home, in which each worker of this node has its own folder."""
    node: NodeName
    cgroup_root: CgroupRoot
    processes_max: int
    variables: Mapping[str, str]
    """The supervisor's own environment."""
    umask: int = 0o022
    """The umask of workers: that of the user, and not the supervisor's own."""

    @property
    def folder(self) -> Path:
        """The folder that the supervisor keeps for this node."""
        return Home(self.home).node(self.node)

    def claim_workers(self) -> None:
        """Make the folder `workers`, or take it if it exists. Raises `Refused` if another user has made it."""
        for folder in (self.workers.parent, self.workers):
            claim(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Where the workers of a gang find each other."""

    host: str = "127.0.0.1"
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """Everything that is needed to start one worker."""

    command: list[str]
    variables: dict[str, str]
    secrets: tuple[str, ...]
    """Values that must not appear in stored output."""
    folder: Path
    notice: Path
    ask: Path
    told: Path
    """A file that exists once the worker was told to leave."""
    cgroup: Cgroup | None
    grace_ms: int
    idle_timeout_ms: int | None
    """Set for a worker with a terminal."""
    is_lead: bool
    """True for the worker whose checkpoints count for its gang."""


def equip(start: StartWorkers, worker: Worker, token: str, meeting: Meeting, context: NodeContext) -> LaunchSpec:
    """Prepare everything for a worker, or raise `CannotStart`."""
    folder = context.workers / token
    try:
        secrets = secrets_of(context.home, start.spec.team, start.spec.secrets)
        return _launch_spec(start, worker, folder, meeting, context, secrets)
    except SecretMissing as problem:
        remove(folder)
        raise Mistaken(str(problem)) from None
    except Refused as problem:
        raise CannotStart(f"node {context.node} cannot prepare the worker: {problem}") from None
    except (StopIteration, ValueError) as error:
        remove(folder)
        raise CannotStart(f"the start makes no sense: {error!r}") from error
    except OSError as error:
        remove(folder)
        raise CannotStart(
            f"node {context.node} cannot prepare the worker: {error.strerror}: {error.filename}"
        ) from error


def _launch_spec(
    start: StartWorkers,
    worker: Worker,
    folder: Path,
    meeting: Meeting,
    context: NodeContext,
    secrets: dict[str, str],
) -> LaunchSpec:
    context.claim_workers()
    folder.mkdir(mode=0o700)
    place = _place(start, worker, folder, meeting)
    os.mkfifo(place.notice_path, 0o600)
    workdir = _workdir(start)
    allowance = _allowance(start.spec.role(worker.role).request, context)
    cgroup = make_cgroup(context.cgroup_root, folder.name, allowance) if context.cgroup_root.folders else None
    interactive = start.spec.interactive if worker.rank == _lead(start) else None
    scripts = {
        SETUP: _script(start.spec.setup, folder / "setup"),
        RUN: _script(run_line(start, worker, place), folder / "run"),
    }
    return LaunchSpec(
        command=shell_command(
            own=str(folder),
            folder=workdir,
            limits=limits_line(context.umask, None if context.cgroup_root.limits(MEMORY) else allowance.memory_bytes),
            has_terminal=interactive is not None,
            groups=() if cgroup is None else cgroup.entrances,
        ),
        variables={**inherited(context.variables), **environment(start, worker, place), **secrets, **scripts},
        secrets=tuple(secrets.values()),
        folder=folder,
        notice=Path(place.notice_path),
        ask=Path(place.ask_path),
        told=folder / TOLD,
        cgroup=cgroup,
        grace_ms=STOP_GRACE_MS if start.spec.checkpoint is None else start.spec.checkpoint.grace_ms,
        idle_timeout_ms=None if interactive is None else interactive.idle_timeout_ms,
        is_lead=worker.rank == _lead(start),
    )


def _place(start: StartWorkers, worker: Worker, folder: Path, meeting: Meeting) -> WorkerPlace:
    hosts = ""
    if start.spec.launch is Launch.MPI:
        hosts = str(folder / "hosts")
        # Every node of this backend is this machine.
        Path(hosts).write_text(hostfile(start, {other.node: meeting.host for other in start.gang}))
    return WorkerPlace(
        node=worker.node,
        master_host=meeting.host,
        master_port=meeting.port,
        token=folder.name,
        notice_path=str(folder / "notice"),
        ask_path=str(folder / "ask"),
        hostfile_path=hosts,
    )


def _lead(start: StartWorkers) -> int:
    return min(other.rank for other in start.gang)


def _workdir(start: StartWorkers) -> str:
    home = os.path.expanduser("~")
    folder = os.path.join(home, os.path.expanduser(start.spec.workdir))
    if not os.path.isdir(folder):
        raise Mistaken(f"the working directory {folder} does not exist: make it, or change `workdir`")
    return folder


def _allowance(request: Request, context: NodeContext) -> Allowance:
    return Allowance(
        memory_bytes=request.memory_bytes or None,
        cpu_milli=request.cpu_milli or None,
        processes=context.processes_max if context.cgroup_root.limits(PIDS) else None,
    )


def _script(text: str, file: Path) -> str:
    """The command as the value of a variable. A very long one is written to a file that the shell reads."""
    if len(text) * 4 < SCRIPT_VARIABLE_BYTES or len(os.fsencode(text)) < SCRIPT_VARIABLE_BYTES:
        return text
    file.write_bytes(os.fsencode(text))
    return f"exec {SHELL} '{file}'" if "'" not in str(file) else f'exec {SHELL} "{file}"'
