"""What a worker needs before it can be started: command, environment, folders, limits."""

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from muster.attempt_token import AUTHORITIES, secret_part
from muster.home import Home
from muster.model.errors import Refused
from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.limits import STOP_GRACE_MS
from muster.model.resources import Request
from muster.model.spec import Launch
from muster.worker.containers.inside import WorkerContainer
from muster.worker.containers.runtime import Runtime
from muster.worker.gang.program import gang_program
from muster.worker.gang.step_records import NAME as STEPS
from muster.worker.launch.batch_jobs import (
    ALLOCATION,
    SCRIPT,
    account_variables,
    allocation_file,
    provide_commands,
    user_variables,
    virtual_hosts,
    with_commands,
    withdraw_commands,
    write_allocation,
)
from muster.worker.launch.checkpoint_path import working_folder
from muster.worker.launch.command_lines import (
    RUN,
    SETUP,
    SHELL,
    TOLD,
    UNPACK,
    as_variable,
    limits_line,
    shell_command,
    with_lighthouse,
)
from muster.worker.launch.contained import Contents, MountMissing, contain, outside
from muster.worker.launch.devices import shown_devices
from muster.worker.launch.environment import WorkerPlace, environment, inherited, job_path
from muster.worker.launch.frameworks import MeetingPlace, hostfile, launched, lighthouse_program, needs_lighthouse
from muster.worker.launch.ray_gangs import ray_line
from muster.worker.launch.runtime_folder import (
    claim,
    claim_hot,
    give_back,
    give_back_if_empty,
    hot_folder,
    remove,
    scratch_folder,
)
from muster.worker.launch.secret_files import TOKEN, Given, SecretMissing, provisions
from muster.worker.launch.setup_records import STAMP, record_folder, setup_folder, setup_key
from muster.worker.launch.slurm_variables import allocation_of, slurm_variables, unless_named
from muster.worker.launch.training_path import provide, withdraw
from muster.worker.launch.working_copies import (
    BundleMissing,
    NoRoomForCopy,
    claim_copy,
    copy_name,
    fetch_line,
    give_back_copies,
    unpack_line,
)
from muster.worker.output.segments import attempt_folder
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

    @property
    def hot(self) -> Path:
        """The folder with the hot tiers of all nodes that this one can read. Each node writes to its own in it."""
        return hot_folder(self.home, self.variables)

    @property
    def scratch(self) -> Path:
        """The folder for large files that go with this home."""
        return scratch_folder(self.home, self.variables)

    @property
    def images(self) -> Path:
        """The folder for image files, beside the checkpoints of nodes: on a large and fast disk."""
        return self.hot.with_name("images")

    def claim_workers(self) -> None:
        """Make the folder `workers`, or take it if it exists. Raises `Refused` if another user has made it."""
        for folder in (self.workers.parent, self.workers):
            claim(folder)

    def give_back(self) -> None:
        """Remove what no successor needs. Checkpoints stay."""
        withdraw(self.workers)
        withdraw_commands(self.workers)
        remove(setup_folder(self.workers))
        give_back(self.workers)
        with suppress(FileNotFoundError):  # the home may be gone, and then its checkpoints have no name any more
            hot = self.hot
            give_back_copies(self.scratch, self.node)
            give_back_if_empty(self.images)
            give_back_if_empty(hot / self.node, hot, hot.parent)
            give_back_if_empty(self.scratch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """Where the workers of a gang find each other."""

    host: str = "127.0.0.1"
    port: int = 0
    given: Given | None = None
    """What a control plane on another machine gives to its workers; None when the node reads it from its home."""


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
    boards: Path
    """The folder in which each process of the worker makes its board."""
    cgroup: Cgroup | None
    grace_ms: int
    idle_timeout_ms: int | None
    """Set for a worker with a terminal."""
    is_lead: bool
    """True for the worker that was the first of its gang when it was started."""
    tells_saves: bool
    """True when a save that it tells of counts for its gang: as its first worker, or because it may become that."""
    has_input: bool = False
    """True for a worker that reads what a user sends."""
    container: WorkerContainer | None = None
    """Where its commands run; None for a worker that runs on the node itself."""

    def line_beside(self, line: str, *, has_terminal: bool) -> str:
        """What a shell beside the worker runs, for a command where its program is."""
        return line if self.container is None else self.container.line_beside(line, has_terminal=has_terminal)


def equip(
    start: StartWorkers,
    worker: Worker,
    token: str,
    meeting: Meeting,
    context: NodeContext,
    runtime: Runtime | None = None,
) -> LaunchSpec:
    """Prepare everything for a worker, or raise `CannotStart`. With a `runtime` it runs in a container."""
    folder = context.workers / token
    try:
        return _launch_spec(start, worker, folder, meeting, context, runtime)
    except (SecretMissing, BundleMissing, MountMissing) as problem:
        remove(folder)
        raise Mistaken(str(problem)) from None
    except NoRoomForCopy as problem:
        remove(folder)
        raise CannotStart(f"node {context.node} cannot prepare the worker: {problem}") from None
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
    start: StartWorkers, worker: Worker, folder: Path, meeting: Meeting, context: NodeContext, runtime: Runtime | None
) -> LaunchSpec:
    secrets, found = provisions(context.home, start, meeting.given)
    context.claim_workers()
    claim_hot(context.home, context.node, context.variables)
    folder.mkdir(mode=0o700)
    place = _place(start, worker, folder, meeting, context)
    setup = start.spec.setup if runtime is None else ""  # in a container, it changes what only this worker sees
    once = record_folder(context.workers, start) if setup or start.spec.bundle else None
    workdir, unpack = _workdir(start, context, once, elsewhere=None if meeting.given is None else found)
    allowance = _allowance(start.spec.role(worker.role).request, context, runtime)
    cgroup = make_cgroup(context.cgroup_root, folder.name, allowance) if context.cgroup_root.folders else None
    is_lead = worker.rank == _lead(start)
    interactive = start.spec.interactive if is_lead else None
    # Not among those that a batch script finds in a file too.
    access = {name: text for name, text in found.items() if name not in dict(start.spec.env)}
    given = {**access, **secrets}
    run = _run_line(start, worker, folder, place)
    if runtime is None:
        variables, container = {**_variables(start, worker, place, folder, context), **given}, None
    else:
        contents = Contents(
            folder=folder,
            copy=workdir if unpack else "",
            variables={**environment(start, worker, place), **given},
            run=run,
            umask=context.umask,
            processes=_processes(context),
            is_lead=is_lead,
        )
        container = contain(start, worker, place, runtime, contents)
        variables, run = outside(inherited(context.variables), start, folder.name), container.line
    scripts = {UNPACK: unpack, SETUP: as_variable(setup, folder / "prepare"), RUN: as_variable(run, folder / "begin")}
    return LaunchSpec(
        command=shell_command(
            own=str(folder),
            folder=workdir,
            limits=limits_line(context.umask, None if context.cgroup_root.limits(MEMORY) else allowance.memory_bytes),
            has_terminal=interactive is not None,
            groups=() if cgroup is None else cgroup.entrances,
            once="" if once is None else str(once),
            key=setup_key(start, workdir) if setup else "",
        ),
        variables={**variables, **scripts},
        container=container,
        secrets=(*secrets.values(), *(secret_part(access[name]) for name in (TOKEN,) if name in access)),
        folder=folder,
        notice=Path(place.notice_path),
        ask=Path(place.ask_path),
        told=folder / TOLD,
        boards=Path(place.boards_path),
        cgroup=cgroup,
        grace_ms=start.spec.grace_ms(STOP_GRACE_MS),
        idle_timeout_ms=None if interactive is None else interactive.idle_timeout_ms,
        has_input=start.spec.stdin and is_lead,
        is_lead=is_lead,
        tells_saves=is_lead or start.spec.resizes_in_place,
    )


def _variables(
    start: StartWorkers, worker: Worker, place: WorkerPlace, folder: Path, context: NodeContext
) -> dict[str, str]:
    """The variables of a worker. What a batch job was given is written down beside them."""
    variables = {**inherited(context.variables), **environment(start, worker, place)}
    if start.spec.launch is not Launch.SLURM:
        return variables
    allocation = allocation_of(start, str(_box(folder, start)))
    known = slurm_variables(start, worker, allocation, place.meeting.host)
    variables = {**account_variables(), **unless_named(start), **variables, **known, **user_variables()}
    variables[ALLOCATION] = str(allocation_file(_box(folder, start)))
    variables = with_commands(variables, provide_commands(context.workers))
    if worker.rank == _lead(start):
        steps = attempt_folder(context.home, start.job, start.attempt) / STEPS
        write_allocation(allocation, start, place.meeting, variables, told=folder / TOLD, steps=steps)
    return variables


def _place(start: StartWorkers, worker: Worker, folder: Path, meeting: Meeting, context: NodeContext) -> WorkerPlace:
    path = (str(provide(context.workers)), job_path(start, context.variables))
    place = WorkerPlace(
        node=worker.node,
        meeting=_meeting_place(start, worker, folder, meeting),
        token=folder.name,
        notice_path=str(folder / "notice"),
        ask_path=str(folder / "ask"),
        boards_path=str(folder / "boards"),
        hot_path=str(context.hot),
        python_path=os.pathsep.join(filter(None, path)),
        is_elsewhere=meeting.given is not None,
        devices=shown_devices(meeting.given, context.variables),
    )
    os.mkfifo(place.notice_path, 0o600)
    os.mkdir(place.boards_path, 0o700)
    return place


def _meeting_place(start: StartWorkers, worker: Worker, folder: Path, meeting: Meeting) -> MeetingPlace:
    if start.spec.launch in (Launch.MPI, Launch.SLURM):
        claim(_box(folder, start))
    if start.spec.launch is not Launch.MPI:
        return MeetingPlace(host=meeting.host, port=meeting.port)
    hosts, remote_shell = folder / "hosts", folder / "remote_shell"
    hosts.write_text(hostfile(start))
    remote_shell.write_text(f'exec {_gang_program("run", folder, start, str(worker.rank))} "$@"\n')
    return MeetingPlace(
        host=meeting.host,
        port=meeting.port,
        hostfile=str(hosts),
        # By its shell, because files in this place may not be executable.
        remote_shell=f"{SHELL} {remote_shell}",
        is_root=os.geteuid() == 0,
    )


def _run_line(start: StartWorkers, worker: Worker, folder: Path, place: WorkerPlace) -> str:
    """What the shell of a worker runs: the line of its role under its launcher, or what waits for the first worker."""
    line = launched(start, worker)
    if needs_lighthouse(start.spec):
        return with_lighthouse(line, lighthouse_program(start.spec))
    if start.spec.launch is Launch.RAY:
        return ray_line(start, worker, folder, place.meeting, line)
    if start.spec.launch not in (Launch.MPI, Launch.SLURM):
        return line
    if worker.rank != _lead(start):
        hosts = virtual_hosts(start, place.meeting) if start.spec.launch is Launch.SLURM else ()
        return f"exec {_gang_program('wait', folder, start, str(worker.rank), *hosts)}"
    file = folder / SCRIPT
    file.write_text(line)
    if start.spec.launch is Launch.MPI:
        return f"exec {_gang_program('lead', folder, start, str(file))}"
    return f"exec {_gang_program('lead', folder, start, str(file), str(allocation_file(_box(folder, start))))}"


def _box(folder: Path, start: StartWorkers) -> Path:
    """The folder in which the workers of a gang meet, on any node of this home."""
    return folder.parent.parent / f".gang-{start.job}-{start.attempt}"


def _gang_program(command: str, folder: Path, start: StartWorkers, *words: str) -> str:
    return shlex.join((*gang_program(), command, str(_box(folder, start)), f"{start.job} {start.attempt}", *words))


def _lead(start: StartWorkers) -> int:
    return min(other.rank for other in start.gang)


def _workdir(
    start: StartWorkers, context: NodeContext, once: Path | None, *, elsewhere: Mapping[str, str] | None
) -> tuple[str, str]:
    """The folder that the worker runs in, and the line that makes it, if it is a copy of what was submitted.

    `elsewhere` is with what a machine elsewhere asks for what was submitted; None where it is stored.
    """
    bundle = start.spec.bundle
    if bundle is not None and once is not None:
        copy = claim_copy(context.scratch, context.node, copy_name(start.job, start.attempt))
        if elsewhere is not None:
            known = {name: context.variables[name] for name in ("MUSTER_URL", AUTHORITIES) if name in context.variables}
            return str(copy), fetch_line(start.job, bundle.id, {**known, **elsewhere}, copy, once / STAMP)
        return str(copy), unpack_line(Home(context.home).bundles, start.spec.team, bundle.id, copy, once / STAMP)
    folder = working_folder(start.spec)
    if start.spec.image:
        return str(context.workers), ""  # what starts its container; it may be a folder of the image
    if not os.path.isdir(folder):
        raise Mistaken(f"the working directory {folder} does not exist: make it, or change `workdir`")
    return folder, ""


def _allowance(request: Request, context: NodeContext, runtime: Runtime | None) -> Allowance:
    """What its control group allows a worker. What starts a container is not limited: its runtime does that."""
    if runtime is not None and runtime.limits_containers:
        return Allowance()
    return Allowance(
        memory_bytes=request.memory_bytes or None,
        cpu_milli=request.cpu_milli or None,
        processes=_processes(context),
    )


def _processes(context: NodeContext) -> int | None:
    """How many processes a worker may have, where they can be counted."""
    return context.processes_max if context.cgroup_root.limits(PIDS) else None
