"""The plan draft of one cycle: what is free, used and promised as the plan grows, and the plan so far.

Everything here is a fork of the snapshot or belongs to the plan. The snapshot itself is only read.
"""

from bisect import bisect_left, insort
from collections.abc import ItemsView, Iterable, Iterator

from muster.core.cluster.capacity import Capacity
from muster.core.cluster.footprint import demand_of_running, gpu_milli_of
from muster.core.cluster.gang import Choice, Demand, Gang
from muster.core.cluster.horizons import horizons_at
from muster.core.cluster.node_use import Footprint, NodeUse
from muster.core.order.preemptibles import lost_gpu_ms, saved_at_ms
from muster.core.order.queueing import JobClass
from muster.core.order.quota import account_of
from muster.core.order.quota_forecast import PromisedQuota, QuotaForecast, Room
from muster.core.planning.placing.placement import Seating
from muster.core.snapshot import Snapshot
from muster.model.ids import JobId, TeamPath
from muster.model.job import RunningJob, WaitingJob
from muster.model.limits import OVERDUE_MARGIN_MS
from muster.model.plan import Basis, Blocked, Eviction, Plan, Promise, ReasonCode, Resize, Start, Why
from muster.model.records import evolve


class PlannedPromise:
    """A promise that stands in this cycle, with what is needed to renew it."""

    def __init__(
        self, *, terms: Promise, tier: int, account: TeamPath, footprint: Footprint, choice: Choice, end_ms: int
    ) -> None:
        self.terms = terms
        self.tier = tier
        self.account = account
        self.footprint = footprint
        self.choice = choice
        self.end_ms = end_ms
        """When its job is gone at the latest if it starts as promised."""


class Begun:
    """A job that this plan starts. It may still grow before the plan is done."""

    def __init__(self, *, job: WaitingJob, gang: Gang, choice: Choice, seating: Seating, end_ms: int) -> None:
        self.job = job
        self.gang = gang
        self.choice = choice
        self.seating = seating
        self.end_ms = end_ms


class PlanDraft:
    """What one cycle works on."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        self.snapshot = snapshot
        self.setting = snapshot.setting
        self.policy = snapshot.setting.policy
        self.now_ms = now_ms
        self.ledger = snapshot.ledger.fork()
        """What each team uses now. Limits are checked against it."""
        self.projected = snapshot.ledger.fork()
        """What each team will use once the jobs told to leave are gone. Guarantees and shares are judged by it."""
        self.horizons = horizons_at(snapshot.capacity.fork(), snapshot.setting.windows, now_ms)
        self.promises: dict[JobId, PlannedPromise] = {}
        self._promised_on: dict[int, dict[JobId, tuple[PlannedPromise, NodeUse]]] = {}
        self.promised_quota = PromisedQuota()
        self.begun: dict[JobId, Begun] = {}
        self.evictions: dict[JobId, Eviction] = {}
        self.told: dict[TeamPath, int] = {}
        """How many jobs of each team this plan tells to leave before their time."""
        self.borrowers: dict[JobId, None] = {}
        """Jobs that this plan tells to leave and that may be stopped only because their team borrows."""
        self.leaving: dict[JobId, int] = {}
        """Jobs that this plan tells to leave, and by when."""
        self.resizes: dict[JobId, Resize] = {}
        self.blocked: list[Blocked] = []
        self._overdue = self._find_overdue()
        self._ends: list[tuple[int, JobId]] | None = None
        for job_id in snapshot.departing:
            self.projected.charge(account_of(snapshot.running[job_id]), snapshot.demands[job_id], sign=-1)
        late = [(end_ms, snapshot.timetable.shares[job_id]) for end_ms, job_id in self._overdue]
        self.quota_forecast = QuotaForecast(self.ledger, snapshot.timetable, late)
        self.preemptors = 0
        self.has_more_to_do = False
        """True when a bound on the effort of one cycle left something undone."""
        self._decided_in: dict[int, None] = {}
        """Classes of which some job starts or has a promise."""
        self._failed: dict[tuple[int, int, int], int] = {}

    @property
    def ends(self) -> list[tuple[int, JobId]]:
        """When each running job is gone at the latest, soonest first. Overdue jobs get a margin.

        Made when it is first needed, because most plans look for no start that far away.
        """
        if self._ends is None:
            timetable, running = self.snapshot.timetable, self.snapshot.running
            overdue = dict.fromkeys(job_id for _, job_id in self._overdue)
            self._ends = timetable.ends[len(overdue) :]
            for job_id in self.leaving:
                if job_id not in overdue:
                    del self._ends[bisect_left(self._ends, (timetable.end_ms[job_id], job_id))]
            for job_id in dict.fromkeys((*overdue, *self.leaving)):
                insort(self._ends, (self.end_ms(running[job_id]), job_id))
            for job_id, begun in self.begun.items():
                insort(self._ends, (begun.end_ms, job_id))
        return self._ends

    def _find_overdue(self) -> list[tuple[int, JobId]]:
        """Running jobs that should be gone by now, and when they may be gone."""
        known, running = self.snapshot.timetable.ends, self.snapshot.running
        late = known[: bisect_left(known, (self.now_ms + 1, ""))]
        return [(self.end_ms(running[job_id]), job_id) for _, job_id in late]

    @property
    def free(self) -> Capacity:
        """What no job uses now, promised or not."""
        return self.horizons.free

    def end_ms(self, job: RunningJob) -> int:
        """When a running job is gone at the latest."""
        leaving_by_ms = self.leaving.get(job.id, job.leaving_by_ms)
        if leaving_by_ms is not None:
            return max(leaving_by_ms, self.now_ms + 1)
        end_ms = job.started_ms + self.setting.limit_ms(job.spec)
        return end_ms if end_ms > self.now_ms else self.now_ms + OVERDUE_MARGIN_MS

    def widest(self, gang: Gang, job: WaitingJob | RunningJob) -> int:
        """How far a gang may spread now: a soft topology preference holds until it relaxes."""
        return gang.level_at(self.now_ms, job.spec.topology.relaxes_ms(job.submitted_ms))

    def surviving_nodes(self, job: WaitingJob) -> tuple[int, ...]:
        """Where the job's surviving workers ran, as node numbers."""
        index_of = self.setting.tree.index_of
        return tuple(index_of[name] for name in job.preferred_nodes if name in index_of)

    def gone_ms(self, footprint: Footprint) -> int:
        """When all jobs on these nodes that were told to leave or to give up workers have done so."""
        times = [self.now_ms]
        for use in footprint:
            for job_id, _ in self.snapshot.uses_on(use.node):
                job = self.snapshot.running[job_id]
                if job_id in self.leaving or job.leaving_by_ms is not None:
                    times.append(self.end_ms(job))
                elif job_id in self.resizes:
                    times.append(self.now_ms + self.setting.grace_ms(job.spec))
        return max(times)

    def begin(self, job: WaitingJob, gang: Gang, choice: Choice, seating: Seating) -> None:
        """Start a gang in this plan."""
        end_ms = self.now_ms + self.setting.limit_ms(job.spec)
        self.begun[job.id] = Begun(job=job, gang=gang, choice=choice, seating=seating, end_ms=end_ms)
        self._decide(job.id)
        self.horizons.take(seating.footprint)
        self.charge(account_of(job), choice.demand, end_ms)
        if self._ends is not None:
            insort(self._ends, (end_ms, job.id))

    def charge(self, account: TeamPath, demand: Demand, end_ms: int) -> None:
        """Count GPUs against a team from now until `end_ms`, in the present and at every promised start."""
        self.ledger.charge(account, demand)
        self.projected.charge(account, demand)
        self.promised_quota.use(self.ledger.chain(account), demand, self.now_ms, end_ms)
        self.quota_forecast.add(end_ms, account, demand)

    def evict(self, job: RunningJob, for_job: JobId, why: Why) -> None:
        """Tell a running job to save itself and leave for another."""
        self._forget_end(job)
        gpu_milli = gpu_milli_of(self.snapshot.demands[job.id])
        lost = lost_gpu_ms(saved_at_ms(job), gpu_milli, self.now_ms)
        self.evictions[job.id] = Eviction(job=job.id, for_job=for_job, why=why, lost_gpu_ms=lost)
        if why is not Why.PROMISE:
            self.told[job.spec.team] = self.told.get(job.spec.team, 0) + 1
        self.leaving[job.id] = self.now_ms + self.setting.grace_ms(job.spec)
        self.projected.charge(account_of(job), self.snapshot.demands[job.id], sign=-1)
        self._note_end(job)

    def _forget_end(self, job: RunningJob) -> None:
        if self._ends is not None:
            del self._ends[bisect_left(self._ends, (self.end_ms(job), job.id))]

    def _note_end(self, job: RunningJob) -> None:
        if self._ends is not None:
            insort(self._ends, (self.end_ms(job), job.id))

    def pardon(self, job_id: JobId) -> None:
        """Take back an eviction or a shrink of this plan."""
        job = self.snapshot.running[job_id]
        if job_id in self.evictions:
            self._forget_end(job)
            del self.evictions[job_id]
            self.borrowers.pop(job_id, None)
            self.told[job.spec.team] -= 1
            del self.leaving[job_id]
            self.projected.charge(account_of(job), self.snapshot.demands[job_id])
            self._note_end(job)
        else:
            kept = demand_of_running(job.spec, self.resizes.pop(job_id).workers, self.setting.tree)
            self.projected.charge(account_of(job), self.snapshot.demands[job_id])
            self.projected.charge(account_of(job), kept, sign=-1)

    def promise(
        self,
        job: WaitingJob | RunningJob,
        choice: Choice,
        seating: Seating,
        start_ms: int,
        basis: Basis,
        moved_because: str = "",
    ) -> None:
        """Promise a gang that it starts on exactly these GPUs, in place of a promise that was put aside.

        A promise that says the same as before keeps its date.
        """
        terms = Promise(
            job=job.id,
            start_ms=start_ms,
            workers=seating.workers,
            made_ms=self.now_ms,
            basis=basis,
            moved_because=moved_because,
        )
        self.promises.pop(job.id, None)
        old = self.snapshot.promises.get(job.id)
        is_same = old is not None and evolve(terms, made_ms=old.made_ms) == old
        self.keep(old if old is not None and is_same else terms, job, choice, seating.footprint)

    def keep(self, terms: Promise, job: WaitingJob | RunningJob, choice: Choice, footprint: Footprint) -> None:
        """Let the promise to a job stand: from now on its GPUs and its quota are reserved."""
        self.restore(
            PlannedPromise(
                terms=terms,
                tier=self.setting.tier_rank[job.spec.tier],
                account=account_of(job),
                footprint=footprint,
                choice=choice,
                end_ms=max(terms.start_ms, self.now_ms) + self.setting.limit_ms(job.spec),
            )
        )

    def restore(self, promise: PlannedPromise) -> None:
        """Let a promise stand that is new, or was retracted or put aside."""
        terms, account, demand = promise.terms, promise.account, promise.choice.demand
        room = self._room_after(terms.start_ms, account, demand)
        self.promised_quota.use(self.ledger.chain(account), demand, terms.start_ms, promise.end_ms)
        self.promised_quota.promise(terms.job, terms.start_ms, room)
        self.quota_forecast.promise(terms.job, account, demand, terms.start_ms, promise.end_ms)
        self.promises[terms.job] = promise
        self._decide(terms.job)
        self.horizons.reserve(promise.footprint, terms.start_ms)
        for use in promise.footprint:
            self._promised_on.setdefault(use.node, {})[terms.job] = (promise, use)
        if terms.basis is Basis.DEPARTURES:
            self.projected.charge(account, demand)

    def retract(self, job_id: JobId) -> PlannedPromise:
        """Take a promise back, because its job starts or may get another one."""
        promise = self.promises[job_id]
        self.put_aside(promise)
        return self.promises.pop(job_id)

    def put_aside(self, promise: PlannedPromise) -> None:
        """Reserve nothing for a promise while something better is looked for. It keeps its place among the others."""
        job_id = promise.terms.job
        self.promised_quota.retract(job_id)
        self.promised_quota.use(
            self.ledger.chain(promise.account),
            promise.choice.demand,
            promise.terms.start_ms,
            promise.end_ms,
            sign=-1,
        )
        self.quota_forecast.retract(job_id)
        self.horizons.lift(promise.footprint, promise.terms.start_ms)
        for use in promise.footprint:
            del self._promised_on[use.node][job_id]
        if promise.terms.basis is Basis.DEPARTURES:
            self.projected.charge(promise.account, promise.choice.demand, sign=-1)

    def _room_after(self, start_ms: int, account: TeamPath, demand: Demand) -> Room:
        """What the limits above an account leave at a promised start once the promised job runs."""
        wanted = dict(demand)
        return {
            (path, gpu_type): milli - wanted.get(gpu_type, 0)
            for (path, gpu_type), milli in self.quota_forecast.room(account, start_ms).items()
        }

    def footprint(self, job_id: JobId) -> Footprint:
        """What a job that occupies GPUs now uses."""
        begun = self.begun.get(job_id)
        return begun.seating.footprint if begun is not None else self.snapshot.footprints[job_id]

    def quota_refusal(self, account: TeamPath, choice: Choice, end_ms: int) -> tuple[ReasonCode, str] | None:
        """Why quota does not allow a start now: a team's limit, or a job's promise. None when it does."""
        breach = self.ledger.breach(account, choice.demand)
        if breach is not None:
            return breach.code, breach.team
        promised = self.breaks_quota_promise(account, choice, end_ms)
        return None if promised is None else (ReasonCode.HELD_BY_OTHERS, promised)

    def breaks_quota_promise(self, account: TeamPath, choice: Choice, end_ms: int) -> JobId | None:
        """The job whose promised quota this start would take, if any."""
        return self.promised_quota.broken_by(self.ledger.chain(account), choice.demand, self.now_ms, end_ms)

    def uses_on(self, node: int, after_ms: int) -> Iterator[NodeUse]:
        """What is still used on a node at a later time, by running jobs and by jobs that this plan starts."""
        running, ends_ms = self.snapshot.running, self.snapshot.timetable.end_ms
        for job_id, use in self.snapshot.uses_on(node):
            end_ms = ends_ms[job_id]
            if end_ms <= self.now_ms or job_id in self.leaving:
                end_ms = self.end_ms(running[job_id])
            if end_ms > after_ms:
                yield use
        for begun in self.begun.values():
            if begun.end_ms > after_ms:
                yield from (use for use in begun.seating.footprint if use.node == node)

    def promised_on(self, node: int) -> ItemsView[JobId, tuple[PlannedPromise, NodeUse]]:
        """What is promised on one node, and to which job."""
        return self._promised_on.get(node, {}).items()

    def known_to_fail(self, group: JobClass, choice: int, level: int, end_ms: int) -> bool:
        """True when an equal gang that would be gone no later did not fit in this cycle."""
        known = self._failed.get((group.gang_number, choice, level))
        return known is not None and end_ms >= known

    def remember_failure(self, group: JobClass, choice: int, level: int, end_ms: int) -> None:
        """Capacity only shrinks within a cycle unless a promise moves, so this gang is not tried again in it."""
        key = (group.gang_number, choice, level)
        self._failed[key] = min(end_ms, self._failed.get(key, end_ms))

    def block(self, parts: Iterable[tuple[JobClass, tuple[JobId, ...]]], code: ReasonCode, detail: str = "") -> None:
        """Record what stopped these jobs first, without the jobs that start or have a promise."""
        stopped = []
        for group, jobs in parts:
            undecided = self._undecided(jobs) if self.has_decided(group) else jobs
            if undecided:
                stopped.append(undecided)
        if stopped:
            self.blocked.append(Blocked(parts=tuple(stopped), code=code, detail=detail, is_stuck=True))

    def has_decided(self, group: JobClass) -> bool:
        """True when some job of a class starts or has a promise in the plan so far."""
        return group.order in self._decided_in

    def _undecided(self, jobs: tuple[JobId, ...]) -> tuple[JobId, ...]:
        begun, promises = self.begun, self.promises
        # Checked for all jobs at once first: the jobs behind one that was just started are undecided.
        if begun.keys().isdisjoint(jobs) and promises.keys().isdisjoint(jobs):
            return jobs
        return tuple([job_id for job_id in jobs if job_id not in begun and job_id not in promises])

    def _decide(self, job_id: JobId) -> None:
        group = self.snapshot.queue.class_of.get(job_id)
        if group is not None:
            self._decided_in[group.order] = None

    def plan(self, wake_ms: int | None) -> Plan:
        """The finished plan, to be made again at `wake_ms` at the latest. All lists are in the order of decisions."""
        return Plan(
            version=self.snapshot.version,
            now_ms=self.now_ms,
            starts=tuple([Start(job=job_id, workers=begun.seating.workers) for job_id, begun in self.begun.items()]),
            evictions=tuple(self.evictions.values()),
            resizes=tuple(self.resizes.values()),
            promises=tuple([promise.terms for promise in self.promises.values()]),
            blocked=tuple(self.blocked),
            wake_ms=wake_ms,
        )
