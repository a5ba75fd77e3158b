"""The variables that Slurm sets in a batch job, as far as its node knows them. What its options say comes with the job.

Pure.
"""

from muster.model.ids import array_numbers, job_number
from muster.model.instructions import StartWorkers
from muster.model.job import Worker
from muster.worker.gang.allocation import AllocatedWorker, Allocation
from muster.worker.gang.node_lists import node_list, repeated
from muster.worker.gang.step_layout import tasks_by_node

CLUSTER = "muster"


def allocation_of(start: StartWorkers, box: str) -> Allocation:
    """What a batch job was given."""
    batch = start.spec.batch
    workers = tuple(
        AllocatedWorker(rank=each.rank, node=each.node, gpus=each.gpus, tasks=batch.tasks_per_worker)
        for each in start.gang
    )
    return Allocation(
        box=box,
        gang=f"{start.job} {start.attempt}",
        workers=workers,
        tasks=batch.tasks or len(workers) * batch.tasks_per_worker,
        cpus_per_task=batch.cpus_per_task,
        gpus_per_task=batch.gpus_per_task,
    )


def slurm_variables(start: StartWorkers, worker: Worker, allocation: Allocation, host: str) -> dict[str, str]:
    """The variables of one worker. Those of the first worker are what the batch script sees."""
    nodes = allocation.nodes
    cpus = [sum(allocation.cpus(each) for each in allocation.on(node)) for node in nodes]
    gpus = [gpu for each in allocation.on(worker.node) for gpu in each.gpus]
    tasks = tasks_by_node(allocation)
    place = nodes.index(worker.node) if worker.node in nodes else 0
    names = node_list(nodes)
    devices = ",".join(map(str, sorted(gpus)))
    return {
        **_identity(start),
        "SLURM_CLUSTER_NAME": CLUSTER,
        "SLURM_JOB_NODELIST": names,
        "SLURM_NODELIST": names,
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_NTASKS": str(allocation.tasks),
        "SLURM_NPROCS": str(allocation.tasks),
        "SLURM_TASKS_PER_NODE": repeated(tasks),
        "SLURM_JOB_CPUS_PER_NODE": repeated(cpus),
        "SLURM_CPUS_ON_NODE": str(cpus[place]),
        "SLURM_CPUS_PER_TASK": str(allocation.cpus_per_task),
        "SLURM_NODEID": str(place),
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_GTIDS": "0",
        "SLURM_PRIO_PROCESS": "0",
        "SLURMD_NODENAME": worker.node,
        "SLURM_TOPOLOGY_ADDR": worker.node,
        "SLURM_TOPOLOGY_ADDR_PATTERN": "node",
        "SLURM_LAUNCH_NODE_IPADDR": host,
        "ENVIRONMENT": "BATCH",
        **({"SLURM_JOB_GPUS": devices, "SLURM_GPUS_ON_NODE": str(len(gpus))} if gpus else {}),
    }


def unless_named(start: StartWorkers) -> dict[str, str]:
    """What Slurm sets also if no option named it. Where `sbatch` was told otherwise, that comes with the job."""
    return {"SLURM_JOB_ACCOUNT": str(start.spec.team), "SLURM_JOB_QOS": str(start.spec.tier)}


def _identity(start: StartWorkers) -> dict[str, str]:
    number = job_number(start.job)
    found = array_numbers(start.job)
    task = {} if found is None else {"SLURM_ARRAY_JOB_ID": found[0], "SLURM_ARRAY_TASK_ID": found[1]}
    return {
        "SLURM_JOB_ID": number,
        "SLURM_JOBID": number,
        "SLURM_RESTART_COUNT": str(start.attempt - 1),
        **task,
    }
