"""The variables of the tasks of a step, as Slurm sets them. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.worker.gang.allocation import Allocation
from muster.worker.gang.node_lists import node_list, repeated

Part = Mapping[str, Any]
"""The tasks of a step beside one worker, as the first worker granted them."""


def step_variables(allocation: Allocation, step: int, parts: Sequence[Part], cpus_per_task: int) -> dict[str, str]:
    """What is true of all tasks of a step."""
    nodes = list(dict.fromkeys(part["node"] for part in parts))
    counts = [sum(len(part["tasks"]) for part in parts if part["node"] == node) for node in nodes]
    tasks, names = str(sum(counts)), node_list(nodes)
    host = allocation.variables.get("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1")
    return {
        "SLURM_STEP_ID": str(step),
        "SLURM_STEPID": str(step),
        "SLURM_STEP_NODELIST": names,
        "SLURM_STEP_NUM_NODES": str(len(nodes)),
        "SLURM_STEP_NUM_TASKS": tasks,
        "SLURM_STEP_TASKS_PER_NODE": repeated(counts),
        "SLURM_NTASKS": tasks,
        "SLURM_NPROCS": tasks,
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_TASKS_PER_NODE": repeated(counts),
        "SLURM_CPUS_PER_TASK": str(cpus_per_task),
        "SLURM_SRUN_COMM_HOST": host,
        "SLURM_LAUNCH_NODE_IPADDR": host,
        "SLURM_DISTRIBUTION": "block",
    }


def task_variables(part: Part, task: Mapping[str, Any], parts: Sequence[Part]) -> dict[str, str]:
    """What is true of one task."""
    on_node = [each for other in parts if other["node"] == part["node"] for each in other["tasks"]]
    devices = ",".join(map(str, task["gpus"]))
    on_step = sorted({gpu for each in on_node for gpu in each["gpus"]})
    gpus = {"SLURM_STEP_GPUS": ",".join(map(str, on_step)), "SLURM_GPUS_ON_NODE": str(len(on_step))} if on_step else {}
    return {
        "SLURM_PROCID": str(task["number"]),
        "SLURM_LOCALID": str(task["local"]),
        "SLURM_NODEID": str(part["node_number"]),
        "SLURM_GTIDS": ",".join(str(each["number"]) for each in on_node),
        "SLURMD_NODENAME": part["node"],
        "SLURM_TOPOLOGY_ADDR": part["node"],
        "CUDA_VISIBLE_DEVICES": devices,
        **({"ROCR_VISIBLE_DEVICES": devices, "GPU_DEVICE_ORDINAL": devices} if devices else {}),
        **gpus,
    }
