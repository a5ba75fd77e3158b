"""What must hold between two moments: no job is forgotten, no ended job comes back, nothing counts twice."""

from collections.abc import Iterator
from dataclasses import dataclass

from muster.core.lifecycle import occupied
from muster.engine.folding.state import State
from muster.model.events import CheckpointSaved, Event, HoldsSet, JobSubmitted, WorkersStarted
from muster.model.ids import JobId, TierName
from muster.model.job import Cause, Job, JobState, Worker
from muster.model.limits import FAULTS_IN_A_ROW
from muster.model.plan import Promise
from muster.model.policy import Pool
from muster.model.resources import GPU_MILLI
from muster.model.spec import DependencyWhen, RetryCause
from muster.sim.campaign.backends import TestedBackend
from muster.sim.campaign.rank_invariants import changed_ranks
from muster.sim.campaign.seat_invariants import seat_problems

OWN_FAILURES = (Cause.ERROR, Cause.OOM, Cause.TIMEOUT)
HARMLESS = (WorkersStarted, CheckpointSaved, HoldsSet)
"""Events after which no promise may move."""


@dataclass(slots=True)
class _Account:
    """What was seen of one job so far."""

    record: Job
    seen_ms: int
    gpu_milli_ms: int = 0
    """Time on GPUs."""
    changes: int = 0
    own_failures: int = 0
    preemptions: int = 0


class History:
    """Remembers the last record of every job, and finds changes that cannot be right."""

    def __init__(self, pools: tuple[Pool, ...], tested: TestedBackend, *, is_exact: bool) -> None:
        self.held: dict[JobId, None] = {}
        """Jobs that their users want held."""
        self.cancelled: dict[JobId, None] = {}
        """Jobs that their users cancelled before they had ended."""
        self.is_adopting = False
        """True while an operator adopts jobs, so that they go on with the gangs found on nodes."""
        self._adopted: dict[JobId, None] = {}
        """Adopted jobs. The restored log may have forgotten what they depend on."""
        self.last_gangs: dict[JobId, tuple[int, tuple[int, ...]]] = {}
        """The last attempt of each job that has succeeded, and its ranks."""
        self._tested = tested
        self._pools = {pool.name: pool for pool in pools}
        self._accounts: dict[JobId, _Account] = {}
        self._is_exact = is_exact
        """True when every single event is looked at, so that time on GPUs can be counted too."""
        self._promises: dict[JobId, Promise] = {}
        self._log_ms = 0

    def begin_anew(self, state: State, log_ms: int) -> None:
        """The log was replaced by an older one. What came after it is forgotten, and everything else stays."""
        self.held = {job.id: None for job in state.jobs.values() if job.held}
        self.cancelled, self._promises = {}, {}
        self._accounts = {
            job.id: _Account(
                record=job, seen_ms=state.now_ms, own_failures=job.retries_used, preemptions=job.preemptions
            )
            for job in state.jobs.values()
        }
        self._is_exact = False
        self._log_ms = log_ms

    def problems(self, state: State) -> Iterator[str]:
        """Changes since the last look that cannot be right."""
        yield from (f"{name}: was accepted and is forgotten" for name in self._accounts if name not in state.jobs)
        for job in state.jobs.values():
            account = self._accounts.get(job.id)
            if account is None:
                if self.is_adopting:
                    self._adopted[job.id] = None
                self._accounts[job.id] = _Account(record=job, seen_ms=state.now_ms)
            elif account.record is not job and account.record != job:
                yield from (f"{job.id}: {problem}" for problem in self._step(state, account, job))
                account.record = job

    def log_problems(self, events: tuple[Event, ...]) -> Iterator[str]:
        """Events with an earlier time than the event before them."""
        for event in events:
            if event.at_ms < self._log_ms:
                yield f"the log goes back from {self._log_ms} to {event.at_ms}"
            self._log_ms = max(self._log_ms, event.at_ms)

    def promise_problems(self, state: State, events: tuple[Event, ...], now_ms: int) -> Iterator[str]:
        """Promises that moved later although only jobs behind them were submitted. Called after a cycle.

        A promise is not checked while a more urgent job waits. That job may be the reason, even if it came before an
        earlier cycle that had too much to do.
        """
        rank = state.snapshot.setting.tier_rank
        most_urgent = min((rank[each.spec.tier] for each in state.snapshot.queue.jobs.values()), default=0)
        for job, promise in self._promises.items():
            mine = rank[state.jobs[job].spec.tier]
            now = state.snapshot.promises.get(job)
            is_later = now is None or now.start_ms > promise.start_ms
            if not is_later or state.jobs[job].state is not JobState.QUEUED or now_ms >= promise.start_ms:
                continue
            if most_urgent < mine:
                continue
            if all(_is_behind(event, mine, rank) for event in events):
                yield f"{job}: its promised start moved for jobs that were submitted after it"
        self._promises = dict(state.snapshot.promises)

    def _step(self, state: State, account: _Account, job: Job) -> Iterator[str]:
        before = account.record
        yield from _forward(before, job)
        yield from changed_ranks(before, job)
        yield from self._count(state, account, job)
        if job.state.holds_resources and not before.state.holds_resources:
            yield from self._start(state, job)
        newcomers = [] if self.is_adopting else [each for each in job.workers if each not in occupied(before)]
        for worker in newcomers:
            yield from self._place(state, job, worker)
            had_seat = any((each.node, each.gpus) == (worker.node, worker.gpus) for each in occupied(before))
            yield from seat_problems(state, job, worker, had_seat=had_seat)
        if job.state is JobState.SUCCEEDED:
            self.last_gangs[job.id] = before.attempt, tuple(worker.rank for worker in before.workers)
        if before.state.holds_resources and not job.state.holds_resources:
            yield from _ending(account, job)
            yield from self._untrue(before, job)

    def _untrue(self, before: Job, job: Job) -> Iterator[str]:
        """What the record says of an ended attempt although the tested backend knows better."""
        if job.cause in (Cause.ERROR, Cause.OOM) and not self._tested.has_failed_by_itself(job.id, before.attempt):
            yield f"attempt {before.attempt} counts as failed for {job.cause}, and no process of it failed by itself"
        ranks = tuple(worker.rank for worker in before.workers)
        if job.state is not JobState.SUCCEEDED and self._tested.has_finished_by_itself(job.id, before.attempt, ranks):
            yield f"every process of attempt {before.attempt} ended well by itself, and the job is {job.state}"

    def _start(self, state: State, job: Job) -> Iterator[str]:
        if self.is_adopting:
            self._adopted[job.id] = None
            return
        if state.now_ms < max(job.spec.begin.at_ms, job.submitted_ms + job.spec.begin.after_ms):
            yield "starts before the time that its user named"
        if job.awaits_turn:
            yield "starts although its turn has not come"
        if job.id in self.held:
            yield "starts although its user holds it"
        if job.id in self.cancelled:
            yield "starts although its user gave it up"
        for dependency in () if job.id in self._adopted else job.spec.depends_on:
            if not _is_met(state.state_of(dependency.job), dependency.when):
                yield f"starts although {dependency.job} has not {dependency.when}"

    def _place(self, state: State, job: Job, worker: Worker) -> Iterator[str]:
        node = state.nodes[worker.node]
        strange = (other for gang in state.quarantine.on(node.name) for other in gang.workers)
        if any(gpu in worker.gpus for other in strange for gpu in other.gpus):
            yield f"is placed on a GPU of {node.name} that something in quarantine uses"
        if not node.state.takes_work:
            yield f"is placed on {node.name}, which is {node.state}"
        if any(gpu in node.bad_gpus for gpu in worker.gpus):
            yield f"is placed on a bad GPU of {node.name}"
        pool = self._pools.get(node.pool)
        spec = job.spec
        if pool is not None and not pool.admits(tier=spec.tier, team=spec.team, can_resume=spec.can_resume):
            yield f"is placed in pool {pool.name}, which does not admit it"

    def _count(self, state: State, account: _Account, job: Job) -> Iterator[str]:
        """Count time on GPUs, and compare it with the record when an attempt ends."""
        before = account.record
        milli = sum(worker.gpu_milli for worker in occupied(before))
        account.gpu_milli_ms += milli * (state.now_ms - account.seen_ms)
        account.seen_ms = state.now_ms
        account.changes += 1
        if not before.state.holds_resources or job.state.holds_resources:
            return
        counted_ms, slack_ms = account.gpu_milli_ms // GPU_MILLI, account.changes + 1
        if self._is_exact and abs(job.attained_gpu_ms - counted_ms) > slack_ms:
            yield f"occupied GPUs for {counted_ms} GPU-milliseconds, and {job.attained_gpu_ms} are counted"


def _forward(before: Job, job: Job) -> Iterator[str]:
    if before.state.is_final:
        yield f"had ended as {before.state} and is {job.state}"
    reached = max(before.attempt, job.attempt_seen)
    if job.generation < before.generation or not before.attempt <= job.attempt <= reached + 1:
        yield f"went from attempt {before.attempt}, {before.generation} to {job.attempt}, {job.generation}"
    is_start = job.attempt > before.attempt and job.state.holds_resources
    is_resized = before.state.holds_resources and job.limited_since_ms is not None
    if is_start and (before.state.holds_resources or before.state.is_final) and not is_resized:
        yield f"starts again while it is {before.state}"
    if (job.checkpointed_ms or 0) < (before.checkpointed_ms or 0) and not before.checkpoints:
        yield f"was safe up to {before.checkpointed_ms} and is up to {job.checkpointed_ms}"
    if job.attained_gpu_ms < before.attained_gpu_ms:
        yield f"had {before.attained_gpu_ms} GPU-milliseconds and has {job.attained_gpu_ms}"
    if (job.id, job.spec, job.submitted_ms) != (before.id, before.spec, before.submitted_ms):
        yield "is not the job that was submitted"


def _ending(account: _Account, job: Job) -> Iterator[str]:
    """An attempt is over. Only the job's own failures use retries, and only as many as it asked for."""
    retry = job.spec.retry
    is_own = job.cause in OWN_FAILURES
    may_retry = is_own and RetryCause(str(job.cause)) in retry.on and account.own_failures < retry.limit
    if job.state.is_final:
        if may_retry:
            yield f"is given up for {job.cause} after {account.own_failures} of {retry.limit} retries"
        if job.cause in (Cause.PREEMPTED, Cause.REQUEUED) or (_is_fault(job) and job.faults_in_a_row < FAULTS_IN_A_ROW):
            yield f"is given up for {job.cause}, which is not its fault"
        return
    if is_own and not may_retry:
        yield f"is tried again for {job.cause} after {account.own_failures} of {retry.limit} retries"
    account.own_failures += is_own
    account.preemptions += job.cause is Cause.PREEMPTED
    if job.retries_used != account.own_failures:
        yield f"used {account.own_failures} retries, and {job.retries_used} are counted"
    if job.preemptions != account.preemptions:
        yield f"was preempted {account.preemptions} times, and {job.preemptions} are counted"
    if job.cause in (Cause.CANCELLED, Cause.COMPLETED):
        yield f"waits again although it was {job.cause}"


def _is_fault(job: Job) -> bool:
    return job.cause in (
        Cause.NODE_FAILURE,
        Cause.START_FAILURE,
        Cause.DAMAGED_CHECKPOINT,
        Cause.STRAGGLER,
        Cause.HANG,
    )


def _is_behind(event: Event, mine: int, rank: dict[TierName, int]) -> bool:
    """True for events that are no reason to move the promise of a job of this tier."""
    return isinstance(event, HARMLESS) or (isinstance(event, JobSubmitted) and rank[event.spec.tier] >= mine)


def _is_met(state: JobState | None, when: DependencyWhen) -> bool:
    match when:
        case DependencyWhen.SUCCEEDED:
            return state is JobState.SUCCEEDED
        case DependencyWhen.FAILED:
            return state in (JobState.FAILED, JobState.TIMED_OUT)
        case DependencyWhen.FINISHED:
            return state is not None and state.is_final
