"""What must be true of spares: whole nodes that run nothing, never too many, and for jobs that lost a node."""

from collections.abc import Iterator

from muster.core.lifecycle import occupied
from muster.engine.folding.state import State
from muster.model.job import Cause, Job, JobState
from muster.model.node import Node, NodeState
from muster.model.scenario import Rules
from muster.model.spec import RoleSpec
from muster.model.team import ancestors


def spare_problems(state: State) -> Iterator[str]:
    """What is wrong with the spares although the engine has just ticked."""
    rules, spares = state.snapshot.rules, frozenset(state.spares)
    if len(state.spares) > rules.policy.spares or len(spares) < len(state.spares):
        yield f"{len(state.spares)} nodes are kept as spares, and the policy says {rules.policy.spares}"
    used = frozenset(worker.node for job in state.occupying for worker in occupied(state.jobs[job]))
    for node in (state.nodes[name] for name in state.spares):
        if node.state is not NodeState.READY or node.bad_gpus or node.name in used or state.quarantine.on(node.name):
            yield f"{node.name} is kept as a spare, and is {node.state}, broken or in use"
    is_reserved = bool(state.snapshot.setting.reservations)
    for job in state.jobs.values() if spares and not is_reserved else ():
        if job.state is JobState.QUEUED and job.cause is Cause.NODE_FAILURE:
            open_to_it = [state.nodes[name] for name in (*job.preferred_nodes, *state.spares) if name in state.nodes]
            whole = {node.name: node for node in open_to_it if _is_whole(state, node, node.name in used)}
            if _would_run(job, list(whole.values()), rules):
                yield f"{job.id}: lost a node and waits, and would fit on {', '.join(whole)}"


def _is_whole(state: State, node: Node, is_used: bool) -> bool:
    is_ready = node.state is NodeState.READY and not node.bad_gpus
    return is_ready and not is_used and not state.quarantine.on(node.name)


def _would_run(job: Job, nodes: list[Node], rules: Rules) -> bool:
    """True when a gang surely fits on these idle nodes. Only gangs are counted for which that is easy to say."""
    spec = job.spec
    is_simple = len(spec.roles) == 1 and spec.parallelism.tensor == 1 and spec.topology.within is None
    is_particular = bool(spec.constraint or spec.exclude or spec.nodelist or spec.engine or spec.exclusive)
    is_limited = any(team.limit for team in rules.teams if team.path in ancestors(spec.team))
    if not is_simple or is_particular or is_limited or job.held or job.unmet:
        return False
    pools = {pool.name: pool for pool in rules.pools}
    slots: dict[str, int] = {}
    for node in nodes:
        pool = pools.get(node.pool)
        if pool is None or pool.admits(tier=spec.tier, team=spec.team, can_resume=spec.can_resume):
            slots[node.gpu_type] = slots.get(node.gpu_type, 0) + _workers_on(node, spec.roles[0])
    return any(count >= spec.roles[0].workers_min for count in slots.values())


def _workers_on(node: Node, role: RoleSpec) -> int:
    """How many workers of a role fit on a node that is empty."""
    request = role.request
    if request.gpu_types and node.gpu_type not in request.gpu_types:
        return 0
    amounts = (
        (node.gpus * 1000, request.gpu_milli if request.is_fractional else request.gpu_count * 1000),
        (node.cpu_milli, request.cpu_milli),
        (node.memory_bytes, request.memory_bytes),
        (node.disk_bytes, request.disk_bytes),
    )
    return min([there // asked for there, asked in amounts if asked], default=0)
