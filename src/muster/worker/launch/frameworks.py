"""How the processes of a gang find each other: the variables and the command of each launcher. Pure.

Frameworks disagree about names but not about facts. One agent of torchrun runs in each worker, and one process per GPU
below it. Everything is passed in variables, so that a script which calls a launcher itself needs no flags.
"""

import re
from dataclasses import dataclass
from typing import assert_never

from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.model.spec import JobSpec, Launch
from muster.worker.launch.shell_lines import python_program, single_command

Variables = dict[str, str]

REFORMS_MOST = 10
"""How often an agent of an elastic gang starts its processes again when they fail, as they do when another node is
lost. A gang that loses more nodes than this begins a new attempt, and so does a program that always fails."""

RENDEZVOUS = "is_host=0,last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=3"
"""How survivors meet again: the store is outside of all workers, a lost agent is noticed after three seconds, and two
seconds later the gang goes on with those that are there. With the defaults of PyTorch it takes a minute."""

MONITOR_S = "0.1"
"""How often an agent looks at its processes. Those of older PyTorch do so every five seconds unless they are told."""

LIGHTHOUSE = "torchft_lighthouse"

QUORUM_TRIES = "10"
"""How often a replica group asks the lighthouse again. It is gone for seconds when it dies and is started again."""

_MPI_LAUNCHER = re.compile(r"(?:^|[\s/])(?:mpirun|mpiexec|orterun|prterun)(?=[\s.]|$)")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingPlace:
    """Where a gang meets, and what its launcher may use."""

    host: str
    port: int
    hostfile: str = ""
    """The file with the workers of the gang for MPI."""
    remote_shell: str = ""
    """The command with which `mpirun` starts its daemon beside another worker."""
    is_root: bool = False

    @property
    def is_loopback(self) -> bool:
        """True when all nodes of the gang are this machine."""
        return self.host.startswith("127.")


def place_in_gang(start: StartWorkers, worker: Worker) -> int:
    """A worker's number from 0 without gaps. Ranks have gaps once a gang was resized, which frameworks do not allow."""
    return sum(other.rank < worker.rank for other in start.gang)


def processes_per_worker(worker: Worker) -> int:
    """One process per GPU, as launchers start them; one for a worker without GPUs."""
    return max(len(worker.gpus), 1)


def needs_store(spec: JobSpec) -> bool:
    """True when the gang meets at a store of PyTorch that must outlive each of its nodes."""
    return spec.launch is Launch.TORCHRUN and spec.elastic_role is not None


def needs_lighthouse(spec: JobSpec) -> bool:
    """True when the replica groups of the gang need a lighthouse, and the job file names none of its own."""
    return spec.launch is Launch.TORCHFT and "TORCHFT_LIGHTHOUSE" not in dict(spec.env)


def lighthouse_program(spec: JobSpec) -> str:
    """The program of the lighthouse beside the interpreter that the job names, or else by its name alone."""
    found = next((found for role in spec.roles if (found := python_program(role.run)) is not None), None)
    folder = "" if found is None else found.python.strip('"').rpartition("/")[0]
    return f"{folder}/{LIGHTHOUSE}" if folder else LIGHTHOUSE


def worker_host(rank: int) -> str:
    """The name by which `mpirun` knows a worker. Two workers of one node have different GPUs and limits."""
    return f"worker-{rank}"


def hostfile(start: StartWorkers) -> str:
    """The workers of a gang with their processes, one line each, in the order of the ranks."""
    return "".join(f"{worker_host(each.rank)} slots={processes_per_worker(each)}\n" for each in start.gang)


def meeting_variables(start: StartWorkers, worker: Worker, place: MeetingPlace) -> Variables:
    """The variables with which the processes of a worker find the others."""
    index, world = str(place_in_gang(start, worker)), str(len(start.gang))
    match start.spec.launch:
        case Launch.PLAIN:
            return {**_env_rendezvous(index, world), "MASTER_ADDR": place.host, "MASTER_PORT": str(place.port)}
        case Launch.TORCHRUN:
            return _elastic(start, worker, place) if needs_store(start.spec) else _static(start, worker, place)
        case Launch.JAX:
            return _jax(index, world, worker, place)
        case Launch.MPI:
            return _mpi(place)
        case Launch.SLURM:
            return {}  # its own, which need more than the meeting place
        case Launch.RAY:
            return {}  # its address is known once its head is up
        case Launch.TORCHFT:
            return _replica_group(start, worker, place)
        case _:
            assert_never(start.spec.launch)


def default_variables(spec: JobSpec, place: MeetingPlace) -> Variables:
    """Variables that the job file may override."""
    uses_torch = spec.launch in (Launch.PLAIN, Launch.TORCHRUN, Launch.TORCHFT, Launch.SLURM)
    # Without it, gloo takes the interface of the host's name, which need not be reachable.
    gloo = {"GLOO_SOCKET_IFNAME": "lo"} if uses_torch and place.is_loopback else {}
    return gloo | ({"TORCHFT_QUORUM_RETRIES": QUORUM_TRIES} if spec.launch is Launch.TORCHFT else {})


def launched(start: StartWorkers, worker: Worker) -> str:
    """What a worker runs: the line of its role, under the launcher of the job where the line is one program.

    Under MPI only the first worker runs it. Anything else than one program stays as it is, and finds the variables.
    """
    run = start.spec.role(worker.role).run
    match start.spec.launch:
        case Launch.TORCHRUN | Launch.TORCHFT:
            return _with_torchrun(run)
        case Launch.MPI:
            return _with_mpirun(run)
        case _:
            return run


def _env_rendezvous(index: str, world: str) -> Variables:
    """What PyTorch's `env://` reads. A worker sees only its own GPUs, so locally it is the first and only one."""
    return {"RANK": index, "WORLD_SIZE": world, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}


def _static(start: StartWorkers, worker: Worker, place: MeetingPlace) -> Variables:
    """A gang of one size. Its agents restart nothing: Muster decides about that, for the gang as a whole."""
    return {
        "PET_NNODES": str(len(start.gang)),
        "PET_NODE_RANK": str(place_in_gang(start, worker)),
        "PET_NPROC_PER_NODE": str(processes_per_worker(worker)),
        "PET_MASTER_ADDR": place.host,
        "PET_MASTER_PORT": str(place.port),
        "PET_RDZV_ID": _meeting_name(start),
        "PET_MAX_RESTARTS": "0",
        "PET_MONITOR_INTERVAL": MONITOR_S,
    }


def _elastic(start: StartWorkers, worker: Worker, place: MeetingPlace) -> Variables:
    """A gang that may lose and gain workers. The agents that are left form it again without Muster."""
    fewest, most = start.spec.gang_workers, start.spec.workers_most
    return {
        "PET_NNODES": f"{fewest}:{most}",
        "PET_NPROC_PER_NODE": str(processes_per_worker(worker)),
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": f"{place.host}:{place.port}",
        "PET_RDZV_ID": _meeting_name(start),
        "PET_RDZV_CONF": RENDEZVOUS,
        "PET_MAX_RESTARTS": str(REFORMS_MOST),
        "PET_MONITOR_INTERVAL": MONITOR_S,
        # The store outlives each formation. Processes that shared it would find addresses of processes that are gone.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        **({"PET_LOCAL_ADDR": _ordered_address(worker.rank)} if place.is_loopback else {}),
    }


def _ordered_address(rank: int) -> str:
    """An address of this machine that sorts as the rank does. PyTorch gives out ranks in the order of addresses."""
    return f"127.0.{100 + rank // 100 % 100}.{100 + rank % 100}"


def _replica_group(start: StartWorkers, worker: Worker, place: MeetingPlace) -> Variables:
    """One worker is one replica group: torchrun inside of it, on a port that the kernel gives out.

    Groups that joined at different times must agree on their number, so it is that of the largest gang.
    """
    most = start.spec.workers_most
    return {
        "REPLICA_GROUP_ID": str(worker.rank % most),
        "NUM_REPLICA_GROUPS": str(most),
        "TORCHFT_LIGHTHOUSE": dict(start.spec.env).get("TORCHFT_LIGHTHOUSE", f"http://{place.host}:{place.port}"),
        "PET_NNODES": "1",
        "PET_NPROC_PER_NODE": str(processes_per_worker(worker)),
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "127.0.0.1:0",
        "PET_RDZV_ID": f"{_meeting_name(start)}-{worker.rank}",
        "PET_LOCAL_ADDR": "127.0.0.1",
        "PET_MAX_RESTARTS": "0",
        "PET_MONITOR_INTERVAL": MONITOR_S,
    }


def _meeting_name(start: StartWorkers) -> str:
    return f"{start.run or start.job}-{start.attempt}"


def _jax(index: str, world: str, worker: Worker, place: MeetingPlace) -> Variables:
    """One process per worker, with all of its GPUs.

    JAX reads only the address from variables of its own. The number of processes it takes from a cluster that it
    recognises. The variables of Open MPI say the same as ours, and are what it recognises with the fewest of them.
    """
    address = f"{place.host}:{place.port}"
    return {
        "JAX_COORDINATOR_ADDRESS": address,
        **({"JAX_COORDINATOR_BIND_ADDRESS": address} if place.is_loopback else {}),
        "JAX_NUM_PROCESSES": world,
        "JAX_PROCESS_ID": index,
        "JAX_LOCAL_DEVICE_IDS": ",".join(map(str, range(processes_per_worker(worker)))),
        "OMPI_MCA_orte_hnp_uri": f"0.0;tcp://{address}",
        "OMPI_COMM_WORLD_RANK": index,
        "OMPI_COMM_WORLD_SIZE": world,
        "OMPI_COMM_WORLD_LOCAL_RANK": "0",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
    }


def _mpi(place: MeetingPlace) -> Variables:
    """What `mpirun` reads. It sets the variables of each process itself."""
    variables = {
        "MUSTER_HOSTFILE": place.hostfile,
        "OMPI_MCA_orte_default_hostfile": place.hostfile,
        "OMPI_MCA_plm": "rsh",
        "OMPI_MCA_plm_rsh_agent": place.remote_shell,
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        # A daemon in the foreground ends with its worker, and a worker with its daemon.
        "OMPI_MCA_orte_leave_session_attached": "1",
        "OMPI_MCA_if_base_do_not_resolve": "1",
        # Control groups bind workers. Daemons would all bind their processes to the same first cores.
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }
    if place.is_loopback:
        variables |= {"OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl_tcp_if_include": "lo"}
    if place.is_root:
        variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return variables


def _with_torchrun(run: str) -> str:
    """A single Python program is run by the torchrun of its interpreter."""
    found = python_program(run)
    if found is None:
        return run
    if not found.python:
        return f"{found.before}torchrun {found.program}"
    return f"{found.before}{found.python} -m torch.distributed.run --no-python {found.python} -u {found.program}"


def _with_mpirun(run: str) -> str:
    """A single command is run by `mpirun`, once for each process."""
    parts = single_command(run)
    if parts is None or _MPI_LAUNCHER.search(parts[1]):
        return run
    command = parts[1].removeprefix("exec ").lstrip()
    return f"{parts[0]}mpirun {'env ' if _ASSIGNS.match(command) else ''}{command}"
