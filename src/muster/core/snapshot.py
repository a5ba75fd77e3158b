"""The scheduling state at one version: what a plan is made from.

Only the engine edits it, by folding events. Every edit increments the version. Planning reads it and works on forks.
Every edit updates the indexes, so that planning again after one event costs only as much as that event changed.
"""

from collections.abc import ItemsView

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.emptied import EmptiedCapacities
from muster.core.cluster.footprint import PromisedFootprints, demand_of_running, footprint_of
from muster.core.cluster.free_states import FreeStates
from muster.core.cluster.gang import Demand
from muster.core.cluster.node_use import Footprint, NodeUse
from muster.core.cluster.setting import Setting
from muster.core.cluster.tree import Tree
from muster.core.order.entitlements import Entitlements
from muster.core.order.pace import Paces, has_slots
from muster.core.order.preemptibles import Preemptibles
from muster.core.order.queueing import JobClass, WaitingQueue
from muster.core.order.quota import Ledger, account_of
from muster.core.order.recent_preemptions import RecentPreemptions
from muster.core.order.run_times import RunTimes, run_ms
from muster.core.order.service import NEWCOMERS
from muster.core.order.service_index import ServiceIndex
from muster.core.order.timetable import Timetable
from muster.model.ids import JobId, TeamPath
from muster.model.job import Placement, RunningJob, WaitingJob
from muster.model.limits import FREE_STATES
from muster.model.machines.reservation import Reservation
from muster.model.node import ClusterSpec, Node
from muster.model.plan import Promise
from muster.model.policy import Order
from muster.model.records import evolve
from muster.model.scenario import Rules, Scenario
from muster.model.spec import JobSpec


class Snapshot:
    """One consistent view of the cluster, its rules, what runs and what waits."""

    def __init__(self, scenario: Scenario) -> None:
        self.version = 0
        """Counts edits. A plan is applied only to the version it was made from."""
        self.news = 0
        """Counts edits that may call for another plan. A job that only joins a class of stuck jobs does not count."""
        self.releases = 0
        """Counts edits after which something may fit that did not fit before."""
        self.cluster = scenario.cluster
        self._teams = scenario.teams
        self.running: dict[JobId, RunningJob] = {}
        self.footprints: dict[JobId, Footprint] = {}
        self.demands: dict[JobId, Demand] = {}
        self.timetable = Timetable()
        self.preemptibles = Preemptibles()
        self.emptied = EmptiedCapacities()
        """What could be free if jobs left. Plans keep it for the next plan."""
        self.elastic: dict[JobId, RunningJob] = {}
        """Running jobs that may change their size."""
        self.paces = Paces()
        self.running_in: list[int] = [0] * len(scenario.tiers)
        """How many jobs of each tier run."""
        self.departing: dict[JobId, None] = {}
        """Running jobs that were told to leave."""
        self.run_times = RunTimes()
        self.turn_ms = scenario.turn_ms
        """How long a job runs before it leaves for an older job of its band; None where jobs take no turns."""
        self._on_node: dict[int, dict[JobId, NodeUse]] = {}
        self.promises: dict[JobId, Promise] = {}
        self._promised_footprints = PromisedFootprints()
        self.ledger = Ledger(scenario.teams, scenario.policy.half_life_ms)
        self.recent_preemptions = RecentPreemptions()
        self.setting: Setting
        self.capacity: Capacity
        self.queue: WaitingQueue
        self._index(scenario)
        self.entitlements = Entitlements(scenario.teams, self.setting.gpu_milli, scenario.now_ms)
        """What every job is due. The engine keeps it, because it knows when jobs are submitted and when they end."""

    def _index(self, scenario: Scenario) -> None:
        tree = Tree(scenario.cluster)
        self.setting = Setting.of(scenario, tree)
        self.capacity = Capacity.of(tree, FreeStates(), self.setting.pools)
        self.queue = WaitingQueue(self.setting)
        self.service = ServiceIndex(self.setting)

    @classmethod
    def of(cls, scenario: Scenario, entitlements: Entitlements | None = None) -> "Snapshot":
        """Index a whole situation. A scenario does not say what jobs are due, so `entitlements` is copied if given."""
        made = cls(scenario)
        if entitlements is not None:
            made.entitlements = entitlements.copy()
        for team, gpu_ms in scenario.usage:
            made.ledger.remember(team, gpu_ms, scenario.now_ms)
        for team, count in scenario.recent_preemptions:
            made.recent_preemptions.add(team, scenario.now_ms, count)
        for running in scenario.running:
            made.start(running)
        for waiting in scenario.waiting:
            made.enqueue(waiting)
        made.promise(scenario.promises)
        made.version = 0
        return made

    def scenario(self, now_ms: int) -> Scenario:
        """The same situation as plain values."""
        return Scenario(
            now_ms=now_ms,
            cluster=ClusterSpec(
                levels=self.cluster.levels,
                nodes=tuple(self.setting.tree.nodes),
                nvlink_level=self.cluster.nvlink_level,
            ),
            pools=tuple(self.setting.pools.values()),
            teams=self._teams,
            tiers=self.setting.tiers,
            policy=self.setting.policy,
            usage=self.ledger.remembered(now_ms),
            recent_preemptions=self.recent_preemptions.counts(now_ms),
            turn_ms=self.turn_ms,
            running=tuple(self.running.values()),
            waiting=tuple(self.queue.jobs.values()),
            promises=tuple(self.promises.values()),
            reservations=self.setting.reservations,
        )

    @property
    def rules(self) -> Rules:
        """The present rules: what an operator may change."""
        setting = self.setting
        return Rules(teams=self._teams, tiers=setting.tiers, pools=tuple(setting.pools.values()), policy=setting.policy)

    @property
    def is_idle(self) -> bool:
        """True when there is nothing to decide: no job waits, has a promise, or could grow or run faster."""
        return not (self.queue.class_of or self.promises or self.elastic or self.paces.slow)

    @property
    def may_upgrade(self) -> bool:
        """True when jobs on slow GPUs may move: no job waits, or teams are declared and no newcomer waits."""
        if not self.paces.slow:
            return False
        return not self.queue.class_of or (
            bool(self._teams) and all(group.band > NEWCOMERS for group in self.queue.classes())
        )

    def reconsider(self) -> None:
        """Forget what the last plan found out, because it was not carried out."""
        self.releases += 1

    def _stir(self) -> None:
        self.version += 1
        self.news += 1
        self.releases += 1

    def enqueue(self, job: WaitingJob) -> None:
        """A job wants to start."""
        self.version += 1
        self.queue.add(job)
        if not self.queue.is_stuck(job.id, self.releases):
            self.news += 1

    def dequeue(self, job_id: JobId) -> WaitingJob:
        """A job no longer wants to start."""
        self._stir()
        return self.queue.remove(job_id)

    def start(self, job: RunningJob) -> None:
        """A job occupies its GPUs from now on, and no longer waits."""
        self.version += 1
        self.news += 1
        if job.id in self.queue.jobs:
            self.queue.remove(job.id)
        demand = self.demands[job.id] = demand_of_running(job.spec, job.workers, self.setting.tree)
        self._occupy(job)
        self._know(job)
        self.running_in[self.setting.tier_rank[job.spec.tier]] += 1
        self.ledger.charge(account_of(job), demand)
        if self.promises.pop(job.id, None) is not None:
            self.releases += 1

    def _know(self, job: RunningJob) -> None:
        if job.id in self.running:
            self._forget(self.running[job.id])
            self.emptied.note(job.id)
        self.running[job.id] = job
        if job.spec.elastic_role is not None and job.can_resize:
            self.elastic[job.id] = job
        else:
            self.elastic.pop(job.id, None)
        self.paces.follow(job, self.setting)
        if job.leaving_by_ms is not None:
            self.departing[job.id] = None
            end_ms = job.leaving_by_ms
        else:
            end_ms = job.started_ms + self.setting.limit_ms(job.spec)
        self.timetable.add(job, end_ms, self.ledger.under_limits(account_of(job), self.demands[job.id]))
        self.service.add(job, end_ms, self.footprints[job.id])
        self.preemptibles.know(job, self.demands[job.id], is_preemptible=self.setting.is_preemptible(job.spec))

    def _forget(self, job: RunningJob) -> None:
        self.timetable.remove(job)
        self.service.remove(job)
        self.preemptibles.remove(job.id)

    def _occupy(self, job: RunningJob) -> None:
        footprint = self.footprints[job.id] = footprint_of(job.spec, job.workers, self.setting.tree)
        for use in footprint:
            self._on_node.setdefault(use.node, {})[job.id] = use
        self.capacity.take(footprint)
        self.capacity.settle()

    def uses_on(self, node: int) -> ItemsView[JobId, NodeUse]:
        """What every running job uses on one node."""
        return self._on_node.get(node, {}).items()

    def finish(self, job_id: JobId) -> RunningJob:
        """A job no longer occupies anything."""
        self.version += 1
        job = self.running.pop(job_id)
        self.running_in[self.setting.tier_rank[job.spec.tier]] -= 1
        self.elastic.pop(job_id, None)
        self.paces.forget(job_id)
        self.departing.pop(job_id, None)
        self._forget(job)
        footprint = self.footprints.pop(job_id)
        for use in footprint:
            del self._on_node[use.node][job_id]
        self.capacity.give(footprint)
        self.capacity.settle()
        self.ledger.charge(account_of(job), self.demands.pop(job_id), sign=-1)
        if len(self.capacity.states.states) > FREE_STATES:
            self._rebuild(self.setting.tree.nodes[0])
        if not self._is_still_blocked():
            self.news += 1
            self.releases += 1
        return job

    def _is_still_blocked(self) -> bool:
        """True when a plan could only start waiting jobs, and too little is free for any of them.

        On a full cluster most exits end here.
        """
        if self.promises or self.elastic or self.may_upgrade:
            return False
        if self.setting.is_strict:
            front = self.queue.front()
            return front is not None and self._is_still_stuck(front)
        return all(self.only_waits(group) and self._is_still_stuck(group) for group in self.queue.classes())

    def _is_still_stuck(self, group: JobClass) -> bool:
        """True when the last plan could not start a class, and a quick look shows that the next cannot either."""
        if group.stuck_at != self.releases or group.relaxes:
            return False
        capacity = self.capacity
        if group.band > NEWCOMERS and group.gpu_milli > capacity.free_milli[0][0] - self.setting.turn_reserve_milli:
            return True
        return not any(has_slots(capacity, group.gang, choice) for choice in group.gang.choices)

    def only_waits(self, group: JobClass) -> bool:
        """True when jobs of a class can only wait for free GPUs: they get no victims and no promise.

        This holds beyond the first band while no running job can resume, unless tier or guarantee lets them preempt.
        """
        in_turn = group.band == NEWCOMERS or (self.service.by_run_time and self.turn_ms is not None)
        return not in_turn and not self.has_rights(group)

    def has_rights(self, group: JobClass) -> bool:
        """True when its tier or the guarantee of its team may let a class stop running jobs."""
        reclaims = self.ledger.guaranteed_above(group.team) and (group.may_preempt or self.ledger.shelters)
        return bool(reclaims) or (group.may_preempt and any(self.running_in[group.tier + 1 :]))

    def resize(self, job_id: JobId, workers: Placement) -> None:
        """A running job has other workers from now on."""
        job, promise = self.finish(job_id), self.promises.get(job_id)
        self.start(evolve(job, workers=workers))
        if promise is not None:
            self.promises[job_id] = promise

    def respecify(self, job_id: JobId, spec: JobSpec) -> None:
        """A running job has another tier, priority or limit from now on."""
        self._stir()
        job = self.running[job_id]
        self.running_in[self.setting.tier_rank[job.spec.tier]] -= 1
        self.running_in[self.setting.tier_rank[spec.tier]] += 1
        self._know(evolve(job, spec=spec))

    def checkpointed(self, job_id: JobId, at_ms: int | None) -> None:
        """A running job has saved itself completely, or its newest checkpoint turned out not to be good."""
        self.version += 1
        if self.running[job_id].checkpointed_ms is None:
            self.emptied.note(job_id)
        job = self.running[job_id] = evolve(self.running[job_id], checkpointed_ms=at_ms)
        self.preemptibles.know(job, self.demands[job_id], is_preemptible=self.setting.is_preemptible(job.spec))
        if job_id in self.elastic:
            self.elastic[job_id] = job
        pace = self.paces.slow.get(job_id)
        if pace is not None and self.may_upgrade and pace.may_find_room(self.capacity):
            self.news += 1

    def resizable(self, job_id: JobId, can_resize: bool, resized_ms: int | None, lost_workers: int) -> None:
        """A running job may change its size from now on, or may not; or something else about its size is known."""
        self._stir()
        job = self.running[job_id]
        self._know(evolve(job, can_resize=can_resize, resized_ms=resized_ms, lost_workers=lost_workers))

    def leaving(self, job_id: JobId, by_ms: int) -> None:
        """A running job was told to leave."""
        self._stir()
        self._know(evolve(self.running[job_id], leaving_by_ms=by_ms))

    def promise(self, promises: tuple[Promise, ...]) -> None:
        """Replace all promises by these."""
        self._stir()
        self.promises = {promise.job: promise for promise in promises}
        self._promised_footprints.keep(self.promises)

    def promised_footprint(self, promise: Promise, job: WaitingJob | RunningJob) -> Footprint | None:
        """What a promise reserves, computed once; None when one of its nodes no longer exists."""
        return self._promised_footprints.find(promise, job, self.setting)

    def learn(self, spec: JobSpec, attained_gpu_ms: int) -> None:
        """A job ended by itself after it received this much GPU time."""
        self.run_times.learn(spec, run_ms(spec, attained_gpu_ms))

    def predicted_ms(self, spec: JobSpec, attained_gpu_ms: int) -> int | None:
        """The median of how much longer jobs like this one run; None if too little is known or the order ignores it.

        None also for a job that states its expected duration: its own statement is used.
        """
        if self.setting.policy.order is not Order.SHORTEST or spec.expected_duration_ms is not None:
            return None
        return self.run_times.quantile_ms(spec, 500, ran_ms=run_ms(spec, attained_gpu_ms) if spec.can_resume else 0)

    def charge(self, team: TeamPath, gpu_ms: int, now_ms: int) -> None:
        """Add past usage to what fair share remembers. Not news by itself: the end of the job is."""
        self.version += 1
        self.ledger.remember(team, gpu_ms, now_ms)

    def preempted(self, team: TeamPath, now_ms: int) -> None:
        """A job of this team was told to leave for another."""
        self._stir()
        self.recent_preemptions.add(team, now_ms)

    def change_node(self, node: Node) -> None:
        """A node's state, pool or bad GPUs changed, or a node is new."""
        self._stir()
        index = self.setting.tree.index_of.get(node.name)
        if index is not None and self.setting.keeps_place(self.setting.tree.nodes[index], node):
            self.capacity.replace_node(index, node, self.setting.pools)
        else:
            self._rebuild(node)

    def change_rules(self, rules: Rules, now_ms: int) -> None:
        """An operator changed quotas, tiers, pools or the policy. Every job here has a tier that still exists."""
        self._stir()
        usage = self.ledger.remembered(now_ms)
        self._teams = rules.teams
        self.ledger = Ledger(rules.teams, rules.policy.half_life_ms)
        self.entitlements.change_teams(rules.teams, now_ms)
        for team, gpu_ms in usage:
            self.ledger.remember(team, gpu_ms, now_ms)
        self._reindex(evolve(self.scenario(now_ms), tiers=rules.tiers, pools=rules.pools, policy=rules.policy))
        self.running_in = [0] * len(rules.tiers)
        for job in self.running.values():
            self.running_in[self.setting.tier_rank[job.spec.tier]] += 1
            self.ledger.charge(account_of(job), self.demands[job.id])
            self._know(job)  # a limit may have changed, and with it when the job is gone

    def entitle_anew(self, now_ms: int) -> None:
        """Forget what all jobs were due, and count from now on."""
        self.entitlements = Entitlements(self._teams, self.setting.gpu_milli, now_ms)

    def change_cluster(self, cluster: ClusterSpec) -> None:
        """These are all the nodes from now on. Every running job must be on nodes that are among them."""
        self._stir()
        self.cluster = cluster
        self._reindex(evolve(self.scenario(0), cluster=cluster))

    def reserve(self, reservations: tuple[Reservation, ...]) -> None:
        """Replace all reservations by these."""
        self._stir()
        self._reindex(evolve(self.scenario(0), reservations=reservations))

    def _rebuild(self, node: Node) -> None:
        """Index everything again: the shape of the cluster changed, or too many free states are remembered."""
        kept = [known for known in self.setting.tree.nodes if known.name != node.name]
        self.cluster = evolve(self.cluster, nodes=(*kept, node))
        self._reindex(evolve(self.scenario(0), cluster=self.cluster))

    def _reindex(self, now: Scenario) -> None:
        self._on_node = {}
        self._promised_footprints = PromisedFootprints()
        self._index(now)
        for job in now.waiting:
            self.queue.add(job)
        for running in now.running:
            self._occupy(running)
            self.paces.follow(running, self.setting)
            self.service.add(running, self.timetable.end_ms[running.id], self.footprints[running.id])
