"""The door to the engine: submit jobs, report what was observed, call `tick`.

The program that drives it, a live server or a simulation, makes one call at a time. What a call changed is in the log
when it returns. Inside `batch`, several calls are written together when the batch ends.
"""

from collections.abc import Mapping

from muster.backends.base import Backend
from muster.core.admission import Rejected
from muster.core.lifecycle import desired_commands, due_ms
from muster.core.lifecycle.arrays import ArrayProgress, failed_only, tasks_of
from muster.engine.adoption import OTHERWISE, adoption
from muster.engine.apply import Applied, Dropped
from muster.engine.cluster_changes import replace_cluster
from muster.engine.controller import Controller
from muster.engine.cycle import CycleReport, run_cycle
from muster.engine.decisions import Decisions
from muster.engine.folding.folding import fold
from muster.engine.folding.forgetting import ended_jobs, forget
from muster.engine.folding.node_folding import of_interest
from muster.engine.folding.state import Follow, State
from muster.engine.past import Past
from muster.engine.setting_aside import SettingAside
from muster.engine.spare_nodes import SpareNodes
from muster.engine.submissions import Submissions, Submitted
from muster.model.array import ArrayRecord, JobRecord
from muster.model.audit import AuditEntry
from muster.model.errors import Conflict, InvalidInput, NotFound
from muster.model.events import (
    Event,
    GangKillOrdered,
    GangsFound,
    JobStarved,
    JobUpdated,
    ObservedEvent,
    RulesChanged,
    TimerFired,
)
from muster.model.ids import JobId
from muster.model.job import Job
from muster.model.limits import REPLAN_AFTER_DROP_MS
from muster.model.node import ClusterSpec
from muster.model.plan import Plan
from muster.model.requests import JobCancelRequested, JobHeld, JobReleased, RequestEvent
from muster.model.scenario import Rules, Scenario
from muster.model.spec import JobChanges, JobSpec
from muster.store.base import EventLog, JobArchive

FORGOTTEN_EVERY = 10_000
"""While a log is folded, jobs that have ended are dropped from the state each time this many events were read."""

__all__ = ["Engine", "Submitted"]


class Engine:
    """Ties the log, the state, the decisions and the backend together."""

    def __init__(
        self,
        *,
        scenario: Scenario,
        log: EventLog,
        backend: Backend,
        decisions: Decisions | None = None,
        saved: State | None = None,
        numbers_from: int = 0,
        archive: JobArchive | None = None,
        follow: Follow | None = None,
    ) -> None:
        """Fold the log up to its end. `saved` is the state at some version of it, so that only later events are folded.

        New jobs get numbers above `numbers_from`, because nodes may know lower numbers from a log that was lost. With
        an archive, jobs that have ended leave the state. `follow` hears of every event that is folded.
        """
        self._past = Past(archive)
        self.state = state = State(scenario) if saved is None else saved
        for number, event in enumerate(log.read(state.version), start=1):
            outcome = fold(state, event)
            if follow is not None:
                follow(state, event, outcome)
            if number % FORGOTTEN_EVERY == 0:
                self._forget(ended_jobs(state))
        self._ended = self._forget(ended_jobs(state))
        """Jobs that have ended and cannot leave the state yet."""
        self._controller = Controller(state, log, follow)
        self._backend = backend
        self._decisions = decisions or Decisions()
        self._planned_news: int | None = None
        """The snapshot's news counter at the last plan. While it is the same, only time can give more to plan."""
        self._wake_ms: int | None = None
        self.last_plan: Plan | None = None
        """The last plan that was applied; None before the first."""
        self._batches = 0
        self._batch = _Batch(self)
        self._submissions = Submissions(
            state, self._decisions, self._past, record=self._record, batch=self._batch, numbers_from=numbers_from
        )
        self._spare_nodes = SpareNodes(state, record=self._record, batch=self._batch)
        self.setting_aside = SettingAside(state, record=self._record, batch=self._batch)

    def submit(
        self,
        spec: JobSpec,
        now_ms: int,
        *,
        job: JobId | None = None,
        held: bool = False,
        by: str = "",
        key: str = "",
        fingerprint: str = "",
    ) -> Submitted | Rejected:
        """Accept a job, or say why not. Admission checks the job file. The jobs it depends on are checked here.

        A repeated request with the same key gets the job of the first one. A request with the same key and another
        fingerprint asks for something else, and is refused with `KeyReused`.
        """
        return self._submissions.submit(spec, now_ms, job=job, held=held, by=by, key=key, fingerprint=fingerprint)

    def submitted_before(self, by: str, key: str, fingerprint: str) -> Submitted | None:
        """The job of an earlier request of this user with the same key; None when there is none."""
        return self._submissions.before(by, key, fingerprint)

    def submit_all(
        self, specs: Mapping[JobId, JobSpec], now_ms: int, *, by: str = ""
    ) -> tuple[Submitted, ...] | Rejected:
        """Accept a whole pipeline or nothing of it. Its jobs may depend on each other, and come in any order."""
        return self._submissions.submit_all(specs, now_ms, by=by)

    def request(self, kind: type[RequestEvent], job: JobId, now_ms: int, *, by: str = "") -> bool:
        """Ask something of a job, or of every task of an array. False when that changes nothing."""
        self._check_known(job)
        return self._record(kind(at_ms=now_ms, job=job, by=by))

    def cancel(self, job: JobId, now_ms: int, *, by: str = "") -> bool:
        """Cancel a job, or every task of an array. False when there is nothing left to cancel."""
        return self.request(JobCancelRequested, job, now_ms, by=by)

    def hold(self, job: JobId, now_ms: int, *, by: str = "") -> bool:
        """Keep a job, or the tasks of an array, from starting. False when that changes nothing."""
        return self.request(JobHeld, job, now_ms, by=by)

    def release(self, job: JobId, now_ms: int, *, by: str = "") -> bool:
        """Let a held job, or the tasks of an array, start. False when that changes nothing."""
        return self.request(JobReleased, job, now_ms, by=by)

    def update(self, job: JobId, now_ms: int, changes: JobChanges, *, by: str = "") -> bool:
        """Change what a job, or every task of an array, asked for. False when that changes nothing."""
        self._check_known(job)
        if changes.tier is not None and changes.tier not in self.state.snapshot.setting.tier_rank:
            names = ", ".join(self.state.snapshot.setting.tier_rank)
            raise InvalidInput(f"there is no tier {changes.tier}; tiers are {names}")
        return self._record(JobUpdated(at_ms=now_ms, job=job, changes=changes, by=by))

    def change_rules(self, rules: Rules, now_ms: int, *, by: str = "", configured: Rules | None = None) -> bool:
        """Put other quotas, tiers, pools or another policy in force. False when nothing is different.

        `configured` is what the configuration says, if these rules follow from one.
        """
        if rules == self.rules and configured in (None, self.state.configured):
            return False
        kept = frozenset(tier.name for tier in rules.tiers)
        for job in self.state.jobs.values():
            if not job.state.is_final and job.spec.tier not in kept:
                raise Conflict(f"tier {job.spec.tier} cannot go: {job.id} is in it; move or end that job first")
        return self._record(RulesChanged(at_ms=now_ms, rules=rules, by=by, configured=configured))

    def change_cluster(self, cluster: ClusterSpec, now_ms: int, *, by: str = "") -> bool:
        """Give the scheduler another set of nodes, with what was found out about them. False when they are the same."""
        with self.batch():
            return replace_cluster(self.state, self._record, cluster, now_ms, by=by)

    @property
    def rules(self) -> Rules:
        """The rules in force: what an operator may change while everything runs."""
        return self.state.rules

    def retry_failed(
        self,
        array: JobId,
        now_ms: int,
        *,
        spec: JobSpec | None = None,
        by: str = "",
        key: str = "",
        fingerprint: str = "",
    ) -> Submitted | Rejected | None:
        """Submit the failed tasks of an array again, as `spec` if given; None when no task failed."""
        record = self.record(array)
        if not isinstance(record, ArrayRecord):
            raise NotFound(f"there is no array {array}")
        alive = self.state.jobs if array in self.state.arrays else None
        tasks = self._past.tasks(record) if alive is None else (alive[task] for task in tasks_of(record))
        failed = failed_only(spec or record.spec, tasks)
        return None if failed is None else self.submit(failed, now_ms, by=by, key=key, fingerprint=fingerprint)

    def audit(self, entry: AuditEntry) -> None:
        """Write who did something. Inside a batch, it is in one transaction with what that changed."""
        self._controller.audit(entry)
        if not self._batches:
            self._write_and_send()

    def observe(self, *events: ObservedEvent) -> int:
        """Record what a backend or an operator reports; returns how many of the reports were news."""
        record, news = self._controller.record, 0
        with self._batch:
            for event in events:
                news += record(of_interest(event, self.state) if type(event) is GangsFound else event)
        return news

    def adopt(self, job: JobId, now_ms: int, *, by: str = "") -> None:
        """Let a job continue with its gang that is in quarantine. A job that is not known here is submitted as well."""
        if job not in self.state.jobs and (ended := self._past.find(job)) is not None:
            raise Conflict(f"{job} is {ended.state} here; {OTHERWISE}")
        events = adoption(self.state, job, now_ms, by=by)
        self._submissions.look_up_again()
        with self.batch():
            for event in events:
                self._record(event)

    def kill_quarantined(self, job: JobId, now_ms: int, *, by: str = "") -> None:
        """Kill everything of a job that is in quarantine. Its GPUs are free once the nodes report the end."""
        if not any(True for _ in self.state.quarantine.of(job)):
            raise NotFound(f"nothing of {job} is in quarantine; `muster quarantine ls` shows what is")
        self._record(GangKillOrdered(at_ms=now_ms, job=job, by=by))

    def tick(self, now_ms: int) -> CycleReport | None:
        """Wake the jobs that are due, and run a cycle if there is news since the last one or its plan asked for it."""
        due_ms = self._controller.timers.next_ms
        if due_ms is not None and due_ms <= now_ms:
            with self.batch():
                self._fire_timers(now_ms)
        self._note_starved(now_ms)
        self.setting_aside.look_after(now_ms)
        self._spare_nodes.look_after(now_ms)
        if not self._has_something_to_plan(now_ms) or self._rests(now_ms):
            return None
        report = run_cycle(self._controller, self._backend, self._decisions, now_ms)
        self._remember_cycle(report, now_ms)
        return report

    def reconnect(self, now_ms: int) -> None:
        """Tell the backend again what it should be doing, after a restart of either. It then reports again."""
        state = self.state
        strays = (gang.job for gangs in state.quarantine.gangs.values() for gang in gangs if gang.job in state.jobs)
        for job in sorted({*state.occupying, *strays}):
            for command in desired_commands(state.jobs[job], now_ms):
                self._backend.send(command)
        for node in sorted({*state.lost, *state.quarantine.gangs}):
            for kill in (*state.kills_on(node), *state.quarantine.kills(node, state.jobs)):
                self._backend.send(kill)

    @property
    def next_ms(self) -> int | None:
        """When to tick again if nothing happens before that; None when only an event can change anything."""
        if self._has_news:
            return self.state.now_ms
        self._controller.timers.forget(self._is_unwanted)
        soonest, starvation = self._controller.timers.next_ms, self.state.starvation
        starves_ms = None if starvation is None else starvation.timers.next_ms
        for moment in (self._wake_ms, starves_ms, self.setting_aside.next_ms):
            if moment is not None and (soonest is None or moment < soonest):
                soonest = moment
        return soonest

    def job(self, job: JobId) -> Job:
        """The record of one job."""
        if job not in self.state.jobs:
            raise NotFound(f"there is no job {job}")
        return self.state.jobs[job]

    def record(self, job: JobId) -> JobRecord:
        """The record of a job, a task or an array, even if it has ended and left the state."""
        state = self.state
        found = state.array_record(job) if job in state.arrays else state.jobs.get(job) or self._past.find(job)
        if found is None:
            raise NotFound(f"there is no job {job}")
        return found

    def progress(self, array: JobId) -> ArrayProgress:
        """How far an array has come."""
        if array not in self.state.arrays:
            raise NotFound(f"there is no array {array}")
        return self.state.arrays[array].progress()

    def story(self, job: JobId) -> str:
        """How a job got where it is, from the log."""
        return self._controller.story(job)

    def batch(self) -> "_Batch":
        """Write everything recorded inside in one go at the end. Nothing is sent or durable before that."""
        return self._batch

    def open_batch(self) -> None:
        """Collect what is recorded from now on until the batch is closed. Prefer `batch`."""
        self._batches += 1

    def close_batch(self) -> None:
        """Write what was collected, if no batch around this one is still open."""
        self._batches -= 1
        if not self._batches:
            self._write_and_send()

    def _write_and_send(self) -> None:
        for command in self._controller.commit():
            self._backend.send(command)
        if self._past.is_kept:
            self._ended = self._forget((*self._ended, *self._controller.take_ended()))

    def _forget(self, ended: tuple[JobId, ...]) -> tuple[JobId, ...]:
        """Drop jobs that have ended from the state if there is an archive; returns the jobs that have to stay."""
        return forget(self.state, ended) if self._past.is_kept else ()

    def _record(self, event: Event) -> bool:
        try:
            return self._controller.record(event)
        finally:
            if not self._batches:
                self._write_and_send()

    def _fire_timers(self, now_ms: int) -> None:
        while (job := self._controller.timers.pop_due(now_ms)) is not None:
            due = self._due_ms(job)
            if due is not None and due <= now_ms:
                self._record(TimerFired(at_ms=now_ms, job=job))

    def _is_unwanted(self, job: JobId, at_ms: int) -> bool:
        return self._due_ms(job) != at_ms

    def _due_ms(self, job: JobId) -> int | None:
        record = self.state.jobs.get(job)
        return None if record is None else due_ms(record)

    def _note_starved(self, now_ms: int) -> None:
        """Record which jobs have run before and waited too long since."""
        starvation = self.state.starvation
        while starvation is not None and (job := starvation.timers.pop_due(now_ms)) is not None:
            record = self.state.jobs.get(job)
            if record is None:
                continue  # the job has ended
            if starvation.has_starved(record, now_ms):
                self._record(JobStarved(at_ms=now_ms, job=job))
            else:
                starvation.look_again(record, now_ms)

    def _has_something_to_plan(self, now_ms: int) -> bool:
        is_woken = self._wake_ms is not None and self._wake_ms <= now_ms
        return is_woken or self._has_news

    def _rests(self, now_ms: int) -> bool:
        """True when a quick look shows that a plan would change nothing. Then it counts as made."""
        rest = self._decisions.rest(self.state.snapshot, now_ms)
        if rest is None:
            return False
        snapshot = self.state.snapshot
        snapshot.queue.remember_all_stuck(snapshot.releases)
        self._planned_news, self._wake_ms = snapshot.news, rest.wake_ms
        return True

    @property
    def _has_news(self) -> bool:
        snapshot = self.state.snapshot
        return self._planned_news != snapshot.news and not snapshot.is_idle

    def _remember_cycle(self, report: CycleReport, now_ms: int) -> None:
        """Note what need not be planned again, and at what time it has to be after all."""
        self._planned_news, self._wake_ms = self.state.snapshot.news, report.plan.wake_ms
        match report.outcome:
            case Applied():
                self.last_plan = report.plan
                return
            case Dropped(is_stale=True):
                self._planned_news = None
            case _:
                self._wake_ms = now_ms + REPLAN_AFTER_DROP_MS
        self.state.snapshot.reconsider()

    def _check_known(self, job: JobId) -> None:
        if self.state.state_of(job) is None:
            self.record(job)


class _Batch:
    """What `Engine.batch` returns. Batches may be nested.

    It is a class because every report opens one, and a generator costs several times as much.
    """

    __slots__ = ("_engine",)

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __enter__(self) -> None:
        self._engine.open_batch()

    def __exit__(self, *_: object) -> None:
        # Also after an error: what was recorded before it is part of the state, so it must be in the log too.
        self._engine.close_batch()
