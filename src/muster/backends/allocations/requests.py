"""What an engine is asked for: from the workers of a start to shares of nodes. Pure."""

from collections.abc import Callable

from muster.attempt_token import agent_token
from muster.backends.allocations.allocation import EngineAllocation
from muster.backends.allocations.engine import AllocationRequest, NodeShare
from muster.model.ids import GpuType, NodeName
from muster.model.instructions import StartWorkers
from muster.model.limits import STOP_GRACE_MS
from muster.model.node_limits import ALLOCATION_MARGIN_MS


def request_for(
    allocation: EngineAllocation, start: StartWorkers, key: bytes, gpu_type: Callable[[NodeName], GpuType]
) -> AllocationRequest:
    """What the workers of an allocation need, nodes that need the same together."""
    shares: dict[NodeShare, list[NodeName]] = {}
    for node in allocation.nodes:
        shares.setdefault(_need(allocation, start, node, gpu_type(node)), []).append(node)
    limit_ms = start.max_duration_ms
    grace_ms = start.spec.grace_ms(STOP_GRACE_MS)
    return AllocationRequest(
        id=allocation.id,
        job=allocation.job,
        attempt=allocation.attempt,
        shares=tuple(
            NodeShare(
                nodes=tuple(nodes),
                gpus=each.gpus,
                gpu_type=each.gpu_type,
                cpus=each.cpus,
                cpu_milli=each.cpu_milli,
                memory_bytes=each.memory_bytes,
            )
            for each, nodes in shares.items()
        ),
        grace_s=-(-grace_ms // 1000),
        limit_s=None if limit_ms is None else -(-(limit_ms + grace_ms + ALLOCATION_MARGIN_MS) // 1000),
        is_exclusive=start.spec.exclusive,
        image=start.spec.image,
        mounts=start.spec.mounts,
        token=agent_token(key, allocation.id),
    )


def _need(allocation: EngineAllocation, start: StartWorkers, node: NodeName, gpu_type: GpuType) -> NodeShare:
    requests = [start.spec.role(worker.role).request for worker in allocation.on(node)]
    cpu_milli = sum(each.cpu_milli for each in requests)
    return NodeShare(
        nodes=(),
        gpus=len(allocation.devices(node)),
        gpu_type=gpu_type,
        cpus=max(-(-cpu_milli // 1000), 1),
        cpu_milli=cpu_milli,
        memory_bytes=sum(each.memory_bytes for each in requests),
    )
