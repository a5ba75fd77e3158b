"""`lint(plan, snapshot)`: what is wrong with a plan, before it is carried out. Runs on every plan, live and simulated.

It looks at the plan as the engine would carry it out, and trusts no intermediate result of planning. The checker in
`muster.checker` states these rules and more a second time, and shares no code with this module.
"""

from muster.core.cluster.footprint import demand_of_running, footprint_of
from muster.core.cluster.gang import tensor_group
from muster.core.cluster.node_use import Footprint
from muster.core.cluster.setting import Setting
from muster.core.order.quota import account_of
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId
from muster.model.job import Placement, RunningJob, WaitingJob, Worker, beyond
from muster.model.plan import Plan
from muster.model.spec import JobSpec


def lint(plan: Plan, snapshot: Snapshot) -> tuple[str, ...]:
    """All violations, in words; empty when the plan may be applied."""
    if plan.version != snapshot.version:
        return (f"plan was made for version {plan.version}, the snapshot is at {snapshot.version}",)
    if not (plan.changes_anything or plan.promises):
        return ()
    return tuple(_wrong_jobs(plan, snapshot) + _wrong_placements(plan, snapshot) + _wrong_promises(plan, snapshot))


def _wrong_jobs(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Jobs that are not in the state that the plan assumes, or appear twice."""
    started = [start.job for start in plan.starts]
    changed = [eviction.job for eviction in plan.evictions] + [resize.job for resize in plan.resizes]
    wrong = [f"{job_id} is decided twice" for job_id in _repeated(started) + _repeated(changed)]
    wrong += [
        f"{job_id} starts but does not wait, or may not be considered yet"
        for job_id in started
        if job_id not in snapshot.queue.class_of
    ]
    for job_id in changed:
        running = snapshot.running.get(job_id)
        if running is None or running.leaving_by_ms is not None:
            wrong.append(f"{job_id} is evicted or resized but does not run, or is leaving already")
    wrong += [
        f"{promise.job} starts and is promised a later start" for promise in plan.promises if promise.job in started
    ]
    return wrong


def _repeated(jobs: list[JobId]) -> list[JobId]:
    if len(jobs) < 2 or len(frozenset(jobs)) == len(jobs):
        return []
    counts: dict[JobId, int] = {}
    for job_id in jobs:
        counts[job_id] = counts.get(job_id, 0) + 1
    return [job_id for job_id, count in counts.items() if count > 1]


def _wrong_placements(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Gangs that are not what the job asked for, GPUs used twice, limits broken."""
    wrong: list[str] = []
    room = _Room(snapshot, plan)
    for start in plan.starts:
        job = snapshot.queue.jobs.get(start.job)
        if job is not None:
            wrong += _wrong_gang(job, start.workers, start.workers, room)
    for resize in plan.resizes:
        running = snapshot.running.get(resize.job)
        if running is not None:
            added = beyond(resize.workers, running.workers)
            wrong += _wrong_gang(running, resize.workers, added, room)
    return wrong


class _Room:
    """What is left of the cluster and of every quota while the gangs of a plan are checked one after another."""

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self.setting = snapshot.setting
        self._now_ms = plan.now_ms
        self._is_shared = len(plan.starts) + len(plan.resizes) > 1
        """False when the plan has only one gang. Then there is no other gang to conflict with, and nothing is taken."""
        self._capacity = snapshot.capacity.fork(shelved=False) if self._is_shared else snapshot.capacity
        self._ledger = snapshot.ledger.fork() if self._is_shared else snapshot.ledger

    def take(self, job: WaitingJob | RunningJob, added: Placement) -> list[str]:
        """Take what these workers need, and report what of it was not free."""
        spec, account = job.spec, account_of(job)
        footprint = footprint_of(spec, added, self.setting.tree, self.setting.tenancy(spec, job.user))
        demand = demand_of_running(spec, added, self.setting.tree)
        wrong = [] if self._capacity.holds(footprint) else ["is placed on what is not free"]
        wrong += self._shut_out(job, footprint)
        breach = self._ledger.breach(account, demand)
        if breach is not None:
            wrong.append(f"takes {breach.team} above its limit of {breach.gpu_type}")
        if self._is_shared:
            self._capacity.take(footprint)
            self._ledger.charge(account, demand)
        return wrong

    def _shut_out(self, job: WaitingJob | RunningJob, footprint: Footprint) -> list[str]:
        """Reservations that do not admit a job and that it would run into, counted by its limit."""
        from_ms = job.started_ms if isinstance(job, RunningJob) else self._now_ms
        end_ms = from_ms + self.setting.limit_ms(job.spec)
        return [
            f"is on {self.setting.tree.nodes[use.node].name}, which is reserved by {window.reservation.name}"
            for window in self.setting.windows
            for use in footprint
            if window.shuts_out(use.tenancy.refuses, use.node, self._now_ms, end_ms)
        ]


def _wrong_gang(job: WaitingJob | RunningJob, workers: Placement, added: Placement, room: _Room) -> list[str]:
    """What is wrong with a gang. The workers in `added` are new and are taken from what is free."""
    spec = job.spec
    wrong = _wrong_size(spec, workers)
    for worker in added:
        wrong += _wrong_worker(spec, worker, room.setting)
    if not wrong and added:
        wrong += _wrong_domain(spec, workers, room.setting)
        wrong += room.take(job, added)
    return [f"{job.id} {problem}" for problem in wrong]


def _wrong_size(spec: JobSpec, workers: Placement) -> list[str]:
    """A gang runs whole or not at all, with ranks that have no gaps."""
    wrong: list[str] = []
    for role in spec.roles:
        count = len([worker for worker in workers if worker.role == role.name])
        if not role.workers_min <= count <= role.workers_max:
            wrong.append(f"has {count} workers of role {role.name}, not {role.workers_min}..{role.workers_max}")
    if [worker.rank for worker in workers] != list(range(len(workers))):
        wrong.append("has ranks with gaps")
    return wrong


def _wrong_worker(spec: JobSpec, worker: Worker, setting: Setting) -> list[str]:
    """A worker has exactly the GPUs it asked for, of a type it accepts, on a node that has them."""
    index = setting.tree.index_of.get(worker.node)
    requests = [role.request for role in spec.roles if role.name == worker.role]
    if index is None or not requests:
        return [f"has rank {worker.rank} as {worker.role} on {worker.node}: there is no such role or node"]
    node, request, wrong = setting.tree.nodes[index], requests[0], list[str]()
    if len(worker.gpus) != request.gpu_count or len(dict.fromkeys(worker.gpus)) != len(worker.gpus):
        wrong.append(f"has {len(worker.gpus)} GPUs for rank {worker.rank}, not {request.gpu_count} different ones")
    if worker.share_milli != (request.gpu_milli if request.is_fractional else None):
        wrong.append(
            f"has a share of {worker.share_milli} thousandths for rank {worker.rank}, which it did not ask for"
        )
    if node.pool not in setting.pools_for(tier=spec.tier, team=spec.team, can_resume=spec.can_resume):
        wrong.append(f"is in pool {node.pool}, which does not admit it")
    where = setting.nodes_for(spec)
    if where is not None and not where.allows[index]:
        wrong.append(f"is on {worker.node}, which it does not accept")
    if any(device >= node.gpus for device in worker.gpus):
        wrong.append(f"has a GPU on {worker.node} that does not exist")
    if request.gpu_milli and request.gpu_types and node.gpu_type not in request.gpu_types:
        wrong.append(f"is on {node.gpu_type}, which it does not accept")
    return wrong


def _wrong_domain(spec: JobSpec, workers: Placement, setting: Setting) -> list[str]:
    """A gang stays inside the level it must not leave, and each tensor-parallel group inside the NVLink level."""
    tree, within = setting.tree, spec.topology.within
    found = []
    level = tree.widest_level if within is None else tree.level_of(within)
    if level:
        nodes = [tree.index_of[worker.node] for worker in workers]
        if not tree.are_together(level, nodes):
            found.append(f"leaves its {tree.levels[level]}")
    for role in spec.roles if spec.parallelism.tensor > 1 else ():
        size = tensor_group(role.request, spec.parallelism.tensor)
        nodes = [tree.index_of[worker.node] for worker in workers if worker.role == role.name]
        groups = [nodes[at : at + size] for at in range(0, len(nodes), size)]
        if not all(tree.are_together(tree.nvlink_level, group) for group in groups):
            found.append(f"has a tensor-parallel group across {tree.levels[tree.nvlink_level]}s")
    return found


def _wrong_promises(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Promises to jobs that do not exist, in the past, or on nodes that do not exist."""
    wrong: list[str] = []
    for promise in plan.promises:
        if promise.start_ms < plan.now_ms:
            wrong.append(f"{promise.job} is promised a start in the past")
        if promise.job not in snapshot.queue.jobs and promise.job not in snapshot.running:
            wrong.append(f"{promise.job} is promised a start but does not exist")
        missing = [node for node in promise.nodes if node not in snapshot.setting.tree.index_of]
        wrong += [f"{promise.job} is promised {node}, which does not exist" for node in missing]
    return wrong
