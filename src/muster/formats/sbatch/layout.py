"""How many workers a batch job has, and what each of them gets.

A worker is what the job has of one node, with places for the tasks of that node. Tasks with GPUs of their own and no
word about nodes are workers of their own, so that they go wherever there is room.
"""

from muster.formats.sbatch.draft import Draft
from muster.formats.sbatch.options import BadOption
from muster.formats.text.units import memory_value


def lay_out(draft: Draft) -> None:
    """Set the workers of the job, their resources and their tasks."""
    workers, per_worker, tasks, by_node = _size(draft)
    gpus = _gpus_of_worker(draft, workers, per_worker)
    resources = draft.job.setdefault("resources", {})
    if gpus:
        resources["gpus"] = gpus
    if gpus and draft.gpu_type:
        resources["gpu_type"] = [draft.gpu_type]
    cpus = draft.cpus_per_task * per_worker if draft.cpus_per_task else draft.cpus_per_gpu * gpus
    if cpus:
        resources["cpus"] = cpus
    memory = _memory_of_worker(draft, gpus, cpus or per_worker)
    if memory:
        resources["memory"] = memory_value(memory)
    if not resources:
        del draft.job["resources"]
    draft.job["workers"] = workers
    if by_node and workers > 1:
        draft.job["topology"] = {"spread": True}
    draft.batch |= {"tasks": tasks, "tasks_per_worker": per_worker}
    if draft.cpus_per_task:
        draft.batch["cpus_per_task"] = draft.cpus_per_task
    if "task" in draft.gpus:
        draft.batch["gpus_per_task"] = draft.gpus["task"]
    if by_node or draft.tasks_per_node:
        draft.variables["SLURM_NTASKS_PER_NODE"] = str(draft.tasks_per_node or per_worker)


def _size(draft: Draft) -> tuple[int, int, int, bool]:
    """Workers, tasks of each, tasks in all, and whether a worker is a node."""
    nodes, tasks, per_node = draft.nodes, draft.tasks, draft.tasks_per_node
    if nodes is None and per_node is not None:
        nodes = -(-(tasks or per_node) // per_node)
    if nodes is not None:
        tasks = tasks or nodes * (per_node or 1)
        nodes = min(nodes, tasks)
        return nodes, max(per_node or 0, -(-tasks // nodes)) if tasks > nodes else (per_node or 1), tasks, True
    tasks = tasks or 1
    is_divided = draft.gpus.get("task", 0) > 0 or (draft.gpus.get("job", 0) >= tasks and not draft.gpus["job"] % tasks)
    if tasks == 1 or "node" in draft.gpus or "node" in draft.memory or not is_divided:
        return 1, tasks, tasks, tasks == 1
    return tasks, 1, tasks, False


def _gpus_of_worker(draft: Draft, workers: int, per_worker: int) -> int:
    if "node" in draft.gpus:
        return draft.gpus["node"]
    if "task" in draft.gpus:
        return draft.gpus["task"] * per_worker
    each, rest = divmod(draft.gpus.get("job", 0), workers)
    if rest:
        problem = f"{draft.gpus['job']} GPUs do not come out even on {workers} nodes"
        raise BadOption(draft.lines["resources.gpu"], "gpus", problem, "use --gpus-per-node, or other numbers")
    return each


def _memory_of_worker(draft: Draft, gpus: int, cpus: int) -> int:
    factors = {"cpu": cpus, "gpu": gpus, "node": 1}
    return next((size * factors[per] for per, size in draft.memory.items()), 0)
