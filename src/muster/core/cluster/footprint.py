"""From workers to what they occupy, and to how much quota that uses."""

from muster.core.cluster.gang import Demand
from muster.core.cluster.node_use import Footprint, NodeUse, per_device
from muster.core.cluster.setting import Setting
from muster.core.cluster.tenancy import Tenancy, tenancy_of
from muster.core.cluster.tree import Tree
from muster.model.ids import GpuType, JobId
from muster.model.job import Placement, RunningJob, WaitingJob
from muster.model.plan import Promise
from muster.model.resources import GPU_MILLI
from muster.model.spec import JobSpec
from muster.model.team import ANY_TYPE


def footprint_of(spec: JobSpec, workers: Placement, tree: Tree, tenancy: Tenancy | None = None) -> Footprint:
    """What a gang occupies, one entry per node in node order. Its tenancy follows from the job unless it is given."""
    requests = {role.name: role.request for role in spec.roles}
    held = tenancy_of(exclusive=spec.exclusive) if tenancy is None else tenancy
    by_node: dict[int, list[int]] = {}
    devices: dict[int, list[tuple[int, int]]] = {}
    for worker in workers:
        request, node = requests[worker.role], tree.index_of[worker.node]
        milli = worker.share_milli if worker.share_milli is not None else GPU_MILLI
        # A device that its node no longer has since the job was placed there is not counted for any job.
        there = [device for device in worker.gpus if device < tree.nodes[node].gpus]
        devices.setdefault(node, []).extend([(device, milli) for device in there])
        total = by_node.setdefault(node, [0, 0, 0])
        total[0] += request.cpu_milli
        total[1] += request.memory_bytes
        total[2] += request.disk_bytes
    return tuple(
        [
            NodeUse(node, per_device(devices[node]), cpu, memory, disk, held)
            for node, (cpu, memory, disk) in sorted(by_node.items())
        ]
    )


class PromisedFootprints:
    """What promises reserve, worked out once for each."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[JobId, tuple[Promise, Footprint | None]] = {}

    def keep(self, promises: dict[JobId, Promise]) -> None:
        """Forget all but these promises."""
        self._known = {job_id: known for job_id, known in self._known.items() if promises.get(job_id) is known[0]}

    def find(self, promise: Promise, job: WaitingJob | RunningJob, setting: Setting) -> Footprint | None:
        """What a promise reserves; None when one of its nodes no longer exists."""
        known = self._known.get(promise.job)
        if known is None or known[0] is not promise:
            there = all(worker.node in setting.tree.index_of for worker in promise.workers)
            tenancy = setting.tenancy(job.spec, job.user)
            footprint = footprint_of(job.spec, promise.workers, setting.tree, tenancy) if there else None
            known = self._known[promise.job] = (promise, footprint)
        return known[1]


def demand_of_running(spec: JobSpec, workers: Placement, tree: Tree) -> Demand:
    """GPU thousandths per type that a placed gang uses."""
    requests = {role.name: role.request for role in spec.roles}
    total: dict[GpuType, int] = {}
    for worker in workers:
        milli = requests[worker.role].gpu_milli
        if milli:
            gpu_type = tree.nodes[tree.index_of[worker.node]].gpu_type
            total[gpu_type] = total.get(gpu_type, 0) + milli
            total[ANY_TYPE] = total.get(ANY_TYPE, 0) + milli
    return tuple(sorted(total.items()))


def gpu_milli_of(demand: Demand) -> int:
    """The sum over types."""
    for gpu_type, milli in demand:
        if gpu_type == ANY_TYPE:
            return milli
    return 0
