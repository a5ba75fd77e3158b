"""The environment variables of a worker: which worker it is, what it resumes from, and where its gang meets.

Pure: from a start to names and values.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.train.store.steps import step_name
from muster.worker.launch.checkpoint_path import checkpoint_path
from muster.worker.launch.frameworks import MeetingPlace, Variables, default_variables, meeting_variables

TOKEN_VARIABLE = "MUSTER_WORKER_TOKEN"
"""Marks every process of a worker, so that its process tree can be recognised."""

PASSED_ON = ("MUSTER_URL",)
"""The only variables of Muster that a worker inherits. The others hold a token or a password, or say where one is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlace:
    """What the supervisor adds to a start."""

    node: NodeName
    meeting: MeetingPlace
    """An address of the first worker's node, and what the launcher may use."""
    token: str
    notice_path: str
    """The pipe where the program reports that it has saved a checkpoint."""
    ask_path: str
    """A file that exists while the program is asked to save a checkpoint."""
    boards_path: str
    """The folder in which each process of the worker makes its board."""
    hot_path: str
    """The folder with the hot tiers of all nodes that this one can read."""
    python_path: str
    """The folder with `muster.train`, and the path of the job behind it."""
    is_elsewhere: bool = False
    """True on another machine than the control plane's: no other node can read its disk."""
    devices: Mapping[int, str] = field(default_factory=dict)
    """What an engine calls the GPUs that Muster numbers; empty where both number alike."""


def inherited(variables: Mapping[str, str]) -> Variables:
    """The variables that a worker inherits from its supervisor."""
    return {name: value for name, value in variables.items() if not name.startswith("MUSTER_") or name in PASSED_ON}


def environment(start: StartWorkers, worker: Worker, place: WorkerPlace) -> Variables:
    """All variables that a start adds for one worker. Muster's variables override those of the job file."""
    return {
        **default_variables(start.spec, place.meeting),
        **dict(start.spec.env),
        "PYTHONPATH": place.python_path,
        **_identity(start, worker, place),
        **_checkpoints(start, place),
        **_devices(worker, place.devices),
        **meeting_variables(start, worker, place.meeting),
    }


def job_path(start: StartWorkers, variables: Mapping[str, str]) -> str:
    """What the job, or else the supervisor, has on Python's path."""
    return dict(start.spec.env).get("PYTHONPATH", variables.get("PYTHONPATH", ""))


def _identity(start: StartWorkers, worker: Worker, place: WorkerPlace) -> Variables:
    nodes = _nodes(start)
    return {
        "MUSTER_JOB": start.job,
        "MUSTER_ATTEMPT": str(start.attempt),
        "MUSTER_RESTART": str(start.attempt - 1),
        "MUSTER_RUN_ID": start.run or start.job,
        "MUSTER_RANK": str(worker.rank),
        "MUSTER_ROLE": worker.role,
        "MUSTER_WORLD": str(len(start.gang)),
        "MUSTER_NODE": place.node,
        "MUSTER_NODE_RANK": str(nodes.index(worker.node) if worker.node in nodes else 0),
        "MUSTER_MASTER_ADDR": place.meeting.host,
        "MUSTER_MASTER_PORT": str(place.meeting.port),
        TOKEN_VARIABLE: place.token,
    }


def _nodes(start: StartWorkers) -> tuple[NodeName, ...]:
    """The nodes of a gang, each once, in the order of the ranks."""
    return tuple(dict.fromkeys(other.node for other in start.gang))


def _checkpoints(start: StartWorkers, place: WorkerPlace) -> Variables:
    variables = {
        "MUSTER_CHECKPOINT_NOTICE": place.notice_path,
        "MUSTER_CHECKPOINT_ASK": place.ask_path,
        "MUSTER_BOARDS": place.boards_path,
        "MUSTER_HOT": place.hot_path,
    }
    nodes = _nodes(start)
    if len(nodes) > 1 and place.node in nodes and not place.is_elsewhere:
        variables["MUSTER_NEIGHBOUR"] = nodes[(nodes.index(place.node) + 1) % len(nodes)]
    if start.spec.checkpoint is not None:
        variables["MUSTER_CHECKPOINT_PATH"] = checkpoint_path(start.spec, start.job)
        variables["MUSTER_CHECKPOINT_KEEP"] = str(start.spec.checkpoint.keep)
    if start.resume_step is not None:
        variables["MUSTER_CHECKPOINT_STEP"] = str(start.resume_step)
        variables["MUSTER_CHECKPOINT_LATEST"] = _latest(start, place, start.resume_step)
    return variables


def _latest(start: StartWorkers, place: WorkerPlace, step: int) -> str:
    """Where the checkpoint to resume from is: in durable storage if it is whole there, otherwise in the hot tier."""
    if start.is_resume_durable and start.spec.checkpoint is not None:
        root = checkpoint_path(start.spec, start.job).rstrip("/")
    else:
        root = os.path.join(place.hot_path, place.node, start.run or start.job)
    return f"{root}/{step_name(step)}"


def _devices(worker: Worker, names: Mapping[int, str]) -> Variables:
    devices = ",".join(names.get(gpu, str(gpu)) for gpu in worker.gpus)
    # An empty list hides every device; leaving it out would show them all.
    variables = {"MUSTER_GPUS": devices, "CUDA_VISIBLE_DEVICES": devices}
    if worker.share_milli is not None:
        variables["MUSTER_GPU_SHARE"] = f"{worker.share_milli // 1000}.{worker.share_milli % 1000:03d}"
    return variables
