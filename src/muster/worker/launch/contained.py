"""What a worker in a container needs: the container with everything that it sees of its node.

At the same path inside as outside: the folder of the worker, hot checkpoints of the node, `muster.train`, the working
directory, and checkpoints in a folder. What the job file mounts comes on top.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.resources import Request
from muster.model.spec import JobSpec
from muster.worker.containers.inside import Inside, WorkerContainer, write_inside
from muster.worker.containers.runtime import Bind, Container, Limits, Runtime
from muster.worker.launch.checkpoint_path import checkpoint_path, working_folder
from muster.worker.launch.environment import TOKEN_VARIABLE, WorkerPlace
from muster.worker.processes.strays import badge_of

DEVICE = "/dev/nvidia{}"

FILE_SCHEME = "file://"


class MountMissing(Exception):
    """A node does not have what a job wants to see in its container; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a worker would have without a container."""

    folder: Path
    """Its own, whose name is its token."""
    copy: str
    """Its working copy; empty without one."""
    variables: Mapping[str, str]
    run: str
    umask: int
    processes: int | None
    """How many it may have."""
    is_lead: bool
    """Whether it is the first worker, which alone has a terminal or reads what is sent."""


def contain(
    start: StartWorkers, worker: Worker, place: WorkerPlace, runtime: Runtime, contents: Contents
) -> WorkerContainer:
    """The container of a worker. Raises `MountMissing`."""
    spec, own = start.spec, contents.folder
    has_terminal = contents.is_lead and spec.interactive is not None
    mounts = _mounts(spec, worker)
    shared = [str(own), place.hot_path, contents.copy or _workdir(spec, mounts)]
    seen = [*mounts, *(Bind(source=each, target=each) for each in shared if each)]
    package, has_devices = place.python_path.split(os.pathsep)[0], _has_devices(worker)
    inside = Inside(
        variables=_variables(contents.variables, worker, runtime),
        python_path=place.python_path if "PYTHONPATH" in dict(spec.env) else package,
        folder=contents.copy or (working_folder(spec) if spec.workdir else ""),
        setup=spec.setup,
        run=contents.run,
        umask=contents.umask,
        has_terminal=has_terminal,
    )
    container = Container(
        name=f"muster-{start.job}-{start.attempt}-{worker.rank}-{own.name}",
        badge=badge_of(own.name),
        image=spec.image,
        script=str(write_inside(own, inside)),
        binds=(*seen, *_checkpoints(start, seen), Bind(source=package, target=package, read_only=True)),
        passed=(TOKEN_VARIABLE,),
        gpus=worker.gpus if has_devices else (),
        limits=_limits(spec.role(worker.role).request, contents.processes) if runtime.limits_containers else Limits(),
        user="" if os.geteuid() == 0 or not runtime.is_daemon else f"{os.geteuid()}:{os.getegid()}",
        has_terminal=has_terminal,
        has_input=contents.is_lead and spec.stdin,
    )
    return WorkerContainer(runtime, container, own, inside.folder)


def outside(inherited: Mapping[str, str], start: StartWorkers, token: str) -> dict[str, str]:
    """The variables of what starts a container: nothing that the job was given."""
    return {**inherited, TOKEN_VARIABLE: token, "MUSTER_JOB": start.job, "MUSTER_ATTEMPT": str(start.attempt)}


def _variables(variables: Mapping[str, str], worker: Worker, runtime: Runtime) -> dict[str, str]:
    """The variables in a container, with GPUs as they are numbered there. What is on Python's path comes apart."""
    found = {name: value for name, value in variables.items() if name != "PYTHONPATH"}
    if _has_devices(worker) and runtime.renumbers_gpus:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(len(worker.gpus))))
    return found


def _has_devices(worker: Worker) -> bool:
    """True when the GPUs of a worker are devices here, and not only numbers."""
    return bool(worker.gpus) and all(os.path.exists(DEVICE.format(gpu)) for gpu in worker.gpus)


def _limits(request: Request, processes: int | None) -> Limits:
    memory_bytes, cpu_milli = request.memory_bytes or None, request.cpu_milli or None
    return Limits(memory_bytes=memory_bytes, cpu_milli=cpu_milli, processes=processes)


def _mounts(spec: JobSpec, worker: Worker) -> list[Bind]:
    for each in spec.mounts:
        if not each.source.startswith("/"):
            advice = "run the job there, by `constraint` or its pool, or name a path of the node"
            raise MountMissing(f"{each.source}, which `mounts` names, is a claim of Kubernetes: {advice}")
        if not os.path.exists(each.source):
            advice = "make it there, name another path, or leave the node out with `exclude`"
            raise MountMissing(f"node {worker.node} has no {each.source}, which `mounts` names: {advice}")
    return [Bind(source=each.source, target=each.target, read_only=each.read_only) for each in spec.mounts]


def _workdir(spec: JobSpec, job_binds: list[Bind]) -> str:
    """The working directory of the node that the container is to see; empty if it has one of its own."""
    folder = working_folder(spec) if spec.workdir else ""
    is_seen = any(_is_in(folder, each.target) for each in job_binds)
    return folder if folder not in ("", "/") and not is_seen and os.path.isdir(folder) else ""


def _checkpoints(start: StartWorkers, binds: list[Bind]) -> list[Bind]:
    """The folder of checkpoints, which is made if it is not there."""
    if start.spec.checkpoint is None:
        return []
    path = checkpoint_path(start.spec, start.job).removeprefix(FILE_SCHEME)
    if "://" in path or any(_is_in(path, each.target) for each in binds):
        return []
    os.makedirs(path, exist_ok=True)
    return [Bind(source=path, target=path)]


def _is_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
