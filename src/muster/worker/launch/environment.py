"""The environment variables of a worker: which worker it is, which others there are, and where they meet.

Pure: from a start to names and values. Frameworks disagree about the names but not about the facts, so each way of
launching is one small table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from muster.model.ids import NodeName
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.spec import Launch

Variables = dict[str, str]

TOKEN_VARIABLE = "MUSTER_WORKER_TOKEN"
"""Marks every process of a worker, so that its process tree can be recognised."""

PASSED_ON = ("MUSTER_URL",)
"""The only variables of Muster that a worker inherits. The others hold a token or a password, or say where one is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlace:
    """What the supervisor adds to a start."""

    node: NodeName
    master_host: str
    """An address of the first worker's node."""
    master_port: int
    token: str
    notice_path: str
    """The pipe where the program reports that it has saved a checkpoint."""
    ask_path: str
    """A file that exists while the program is asked to save a checkpoint."""
    hostfile_path: str = ""
    """The file with the nodes of the gang for MPI; empty unless MPI launches it."""


def inherited(variables: Mapping[str, str]) -> Variables:
    """The variables that a worker inherits from its supervisor."""
    return {name: value for name, value in variables.items() if not name.startswith("MUSTER_") or name in PASSED_ON}


def environment(start: StartWorkers, worker: Worker, place: WorkerPlace) -> Variables:
    """All variables that a start adds for one worker. Muster's variables override those of the job file."""
    return {
        **dict(start.spec.env),
        **_identity(start, worker, place),
        **_checkpoints(start, place),
        **_devices(worker),
        **_meeting(start, worker, place),
    }


def place_in_gang(start: StartWorkers, worker: Worker) -> int:
    """A worker's number from 0 without gaps. Ranks have gaps once a gang was resized, which frameworks do not allow."""
    return sum(other.rank < worker.rank for other in start.gang)


def hostfile(start: StartWorkers, addresses: Mapping[NodeName, str]) -> str:
    """The nodes of a gang with their slots, one line each, in the order of the ranks."""
    slots: dict[str, int] = {}
    for worker in start.gang:
        host = addresses.get(worker.node, worker.node)
        slots[host] = slots.get(host, 0) + max(len(worker.gpus), 1)
    return "".join(f"{host} slots={count}\n" for host, count in slots.items())


def processes_per_worker(worker: Worker) -> int:
    """One process per GPU, as launchers start them; one for a worker without GPUs."""
    return max(len(worker.gpus), 1)


def _identity(start: StartWorkers, worker: Worker, place: WorkerPlace) -> Variables:
    nodes = tuple(dict.fromkeys(other.node for other in start.gang))
    return {
        "MUSTER_JOB": start.job,
        "MUSTER_ATTEMPT": str(start.attempt),
        "MUSTER_RANK": str(worker.rank),
        "MUSTER_ROLE": worker.role,
        "MUSTER_WORLD": str(len(start.gang)),
        "MUSTER_NODE": place.node,
        "MUSTER_NODE_RANK": str(nodes.index(worker.node) if worker.node in nodes else 0),
        "MUSTER_MASTER_ADDR": place.master_host,
        "MUSTER_MASTER_PORT": str(place.master_port),
        TOKEN_VARIABLE: place.token,
    }


def _checkpoints(start: StartWorkers, place: WorkerPlace) -> Variables:
    variables = {"MUSTER_CHECKPOINT_NOTICE": place.notice_path, "MUSTER_CHECKPOINT_ASK": place.ask_path}
    if start.spec.checkpoint is not None:
        variables["MUSTER_CHECKPOINT_PATH"] = start.spec.checkpoint.path
    return variables


def _devices(worker: Worker) -> Variables:
    devices = ",".join(str(gpu) for gpu in worker.gpus)
    # An empty list hides every device; leaving it out would show them all.
    variables = {"MUSTER_GPUS": devices, "CUDA_VISIBLE_DEVICES": devices}
    if worker.share_milli is not None:
        variables["MUSTER_GPU_SHARE"] = f"{worker.share_milli // 1000}.{worker.share_milli % 1000:03d}"
    return variables


def _meeting(start: StartWorkers, worker: Worker, place: WorkerPlace) -> Variables:
    index, world = str(place_in_gang(start, worker)), str(len(start.gang))
    host, port = place.master_host, str(place.master_port)
    match start.spec.launch:
        case Launch.PLAIN:
            return {**_env_rendezvous(index, world), "MASTER_ADDR": host, "MASTER_PORT": port}
        case Launch.TORCHRUN:
            # torchrun reads these where a flag is not given. A script that calls torchrun itself needs no flags.
            return {
                "PET_NNODES": world,
                "PET_NODE_RANK": index,
                "PET_NPROC_PER_NODE": str(processes_per_worker(worker)),
                "PET_MASTER_ADDR": host,
                "PET_MASTER_PORT": port,
            }
        case Launch.JAX:
            return {
                "JAX_COORDINATOR_ADDRESS": f"{host}:{port}",
                "JAX_NUM_PROCESSES": world,
                "JAX_PROCESS_ID": index,
            }
        case Launch.MPI:
            return _mpi(start, worker, place)
        case Launch.TORCHFT:
            return {"REPLICA_GROUP_ID": index, "NUM_REPLICA_GROUPS": world}
        case _:
            assert_never(start.spec.launch)


def _env_rendezvous(index: str, world: str) -> Variables:
    """What PyTorch's `env://` reads. A worker sees only its own GPUs, so locally it is the first and only one."""
    return {"RANK": index, "WORLD_SIZE": world, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}


def _mpi(start: StartWorkers, worker: Worker, place: WorkerPlace) -> Variables:
    here = [other for other in start.gang if other.node == worker.node]
    return {
        "OMPI_COMM_WORLD_RANK": str(place_in_gang(start, worker)),
        "OMPI_COMM_WORLD_SIZE": str(len(start.gang)),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(sum(other.rank < worker.rank for other in here)),
        "OMPI_COMM_WORLD_LOCAL_SIZE": str(len(here)),
        "MUSTER_HOSTFILE": place.hostfile_path,
        "OMPI_MCA_orte_default_hostfile": place.hostfile_path,
        "PRTE_MCA_prte_default_hostfile": place.hostfile_path,
    }
