"""What must be true at every moment, computed anew from the records, the rules and the tested backend."""

from collections.abc import Iterator

from muster.checker.facts import milli_on_device
from muster.core.lifecycle import occupied
from muster.engine.folding.state import State
from muster.model.events import HEALTH
from muster.model.ids import JobId, NodeName
from muster.model.job import Job, JobState, Placement, Worker
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario
from muster.model.team import ANY_TYPE, ancestors
from muster.sim.campaign.backends import TestedBackend
from muster.sim.campaign.rank_invariants import present_ranks

ACTIVE = (JobState.STARTING, JobState.RUNNING)

Device = tuple[NodeName, int]


def present_problems(state: State, tested: TestedBackend, now_ms: int) -> Iterator[str]:
    """Everything that is wrong now."""
    holders = [state.jobs[job] for job in state.occupying]
    scenario = state.snapshot.scenario(now_ms)
    yield from _records(state)
    yield from _devices(state, holders)
    yield from _gangs(holders)
    yield from (f"{job.id}: {problem}" for job in holders for problem in present_ranks(job))
    yield from _limits(state, scenario, holders)
    yield from _arrays(state)
    yield from _processes(state, tested)
    yield from _snapshot(state, scenario, holders)
    yield from _verdicts(state)
    yield from (f"{job}: useful work is counted twice" for job in tested.overcounted())


def overstays(state: State, now_ms: int) -> Iterator[str]:
    """Jobs that are past a deadline although the engine has just ticked."""
    limit_ms = state.snapshot.setting.limit_ms
    for job in (state.jobs[name] for name in state.occupying):
        since_ms = job.started_ms if job.limited_since_ms is None else job.limited_since_ms
        if job.state in ACTIVE and (since_ms or 0) + limit_ms(job.spec) <= now_ms:
            yield f"{job.id}: still {job.state} after its maximum duration"
        if job.state not in ACTIVE and (job.deadline_ms is None or job.deadline_ms <= now_ms):
            yield f"{job.id}: was told to leave and is not killed after its grace period"
        is_left = job.leaving_by_ms is None and job.state not in ACTIVE
        if job.leaving and not is_left and (job.leaving_by_ms or 0) <= now_ms:
            yield f"{job.id}: workers that it gave up are not killed after their grace period"


def _verdicts(state: State) -> Iterator[str]:
    """Verdicts take out no more than a fifth of the nodes of a pool at once, or one node."""
    out: dict[str, int] = {}
    members: dict[str, int] = {}
    for node in state.nodes.values():
        members[node.pool] = members.get(node.pool, 0) + 1
        is_out = state.set_aside.get(node.name) == HEALTH and not node.state.takes_work
        out[node.pool] = out.get(node.pool, 0) + is_out
    for pool, count in out.items():
        if count > max(members[pool] // 5, 1):
            yield f"{count} of {members[pool]} nodes of pool {pool} are out by verdicts"


def _records(state: State) -> Iterator[str]:
    for job in state.jobs.values():
        if job.state.holds_resources != (job.id in state.occupying):
            yield f"{job.id}: is {job.state} and the list of those with GPUs says otherwise"
        if bool(job.workers or job.leaving) != job.state.holds_resources:
            yield f"{job.id}: is {job.state} with {len(job.workers)} workers"


def _devices(state: State, holders: list[Job]) -> Iterator[str]:
    for (node, gpu), milli in _use(holders).items():
        if milli > GPU_MILLI:
            yield f"GPU {gpu} of node {node} is given out {milli} thousandths"
        if not 0 <= gpu < state.nodes[node].gpus:
            yield f"GPU {gpu} of node {node} does not exist"


def _use(holders: list[Job]) -> dict[Device, int]:
    used: dict[Device, int] = {}
    for job in holders:
        _add(used, occupied(job))
    return used


def _add(used: dict[Device, int], workers: Placement) -> None:
    for worker in workers:
        for gpu in worker.gpus:
            used[worker.node, gpu] = used.get((worker.node, gpu), 0) + milli_on_device(worker)


def _gangs(holders: list[Job]) -> Iterator[str]:
    """A job that was not told to leave has a whole gang, and each worker has the GPUs it asked for."""
    for job in holders:
        for role in job.spec.roles if job.state in ACTIVE else ():
            members = [worker for worker in job.workers if worker.role == role.name]
            if not role.workers_min <= len(members) <= role.workers_max:
                yield f"{job.id}: {len(members)} workers of role {role.name}"
            if any(len(worker.gpus) != role.request.gpu_count for worker in members):
                yield f"{job.id}: a worker of role {role.name} has not the GPUs it asked for"


def _limits(state: State, scenario: Scenario, holders: list[Job]) -> Iterator[str]:
    for team in scenario.teams:
        used: dict[str, int] = {}
        for job in holders:
            if team.path in ancestors(job.spec.team):
                for worker in occupied(job):
                    milli = job.spec.role(worker.role).request.gpu_milli
                    for kind in (state.nodes[worker.node].gpu_type, ANY_TYPE):
                        used[kind] = used.get(kind, 0) + milli
        for gpu_type, limit_milli in team.limit:
            if used.get(gpu_type, 0) > limit_milli:
                yield f"team {team.path} uses {used[gpu_type]} of {gpu_type}, and its limit is {limit_milli}"


def _arrays(state: State) -> Iterator[str]:
    for array, tally in state.arrays.items():
        spec = state.array_specs[array].array
        tasks = [state.jobs[task] for task in tally.tasks]
        begun = sum(_has_begun(task) for task in tasks)
        if spec is not None and spec.concurrency is not None and begun > spec.concurrency:
            yield f"{array}: {begun} tasks at once, and {spec.concurrency} may be"


def _has_begun(task: Job) -> bool:
    """True for a task that counts. After a restore, a task seen or adopted before its turn comes does not count."""
    return task.attempt > 0 and not task.state.is_final and not task.awaits_turn


def _processes(state: State, tested: TestedBackend) -> Iterator[str]:
    """Every process runs where the engine has placed its job, and no GPU is used beyond its capacity."""
    alive: dict[Device, int] = {}
    attempts: dict[JobId, int] = {}
    for job, attempt, worker in tested.seats():
        _add(alive, (worker,))
        if attempts.setdefault(job, attempt) != attempt:
            yield f"{job}: runs twice at once"
        if not _is_known(state, job, attempt, worker):
            yield f"{job}: rank {worker.rank} of attempt {attempt} is alive on {worker.node}, unknown to the engine"
    for (node, gpu), milli in alive.items():
        if milli > GPU_MILLI:
            yield f"GPU {gpu} of node {node} is used {milli} thousandths by processes"


def _is_known(state: State, job: JobId, attempt: int, worker: Worker) -> bool:
    """True when the engine has placed this process on its node, or has it in quarantine there."""
    record = state.jobs.get(job)
    if record is not None and record.attempt == attempt and worker in occupied(record):
        return True
    return any(
        node == worker.node and gang.attempt == attempt and worker in gang.workers
        for node, gang in state.quarantine.of(job)
    )


def _snapshot(state: State, scenario: Scenario, holders: list[Job]) -> Iterator[str]:
    """Planning sees what the records say."""
    seen: dict[Device, int] = {}
    for running in scenario.running:
        _add(seen, running.workers)
    if seen != _use(holders):
        yield "planning sees other GPUs in use than the records say"
    waiting = {job.id: job for job in scenario.waiting}
    for job in state.jobs.values():
        if job.state is JobState.QUEUED and job.id not in waiting:
            yield f"{job.id}: is queued and planning does not see it"
        if job.id in waiting and (job.state.is_final or job.state.holds_resources):
            yield f"{job.id}: is {job.state} and planning takes it to be waiting"
    nodes = {node.name: node for node in scenario.cluster.nodes}
    if nodes != {name: state.planned(node) for name, node in state.nodes.items()}:
        yield "planning sees other nodes than the records say"
