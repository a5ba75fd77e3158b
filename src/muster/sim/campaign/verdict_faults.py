"""Verdicts on ranks and nodes: a rank is slow, a job stands still, and probes of nodes flap, one or all at once.

Each verdict is looked at by itself: what it may change follows from what the job asked for.
"""

from collections.abc import Callable, Iterator

from muster.core.health import Finding, HealthPolicy, NodeCase, Severity, guarded, wish
from muster.model.events import HEALTH, HangFound, HangOver, NodeChanged, StragglerFound, StragglerGone, VerdictEvent
from muster.model.ids import JobId, NodeName
from muster.model.job import Cause, Job, JobState
from muster.model.node import HealthRecord, NodeState
from muster.model.policy import HOUR_MS
from muster.model.records import evolve
from muster.model.spec import Remedy
from muster.model.telemetry import Hang, Straggler
from muster.sim.campaign.schedule import FaultAction, Happening
from muster.sim.campaign.trial import Trial

POLICY = HealthPolicy()
REMEDIES_MOST = 2
"""How often in an hour a job may be started again because of slow ranks."""
VERDICTS_AT_ONCE = 3
"""A slow rank is often named again and again."""


class VerdictFaults:
    """What is concluded about ranks and nodes."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._bad_ms: dict[NodeName, int] = {}
        """Nodes whose probes say that they are bad, and since when."""
        self._well_ms: dict[NodeName, int] = {}
        """Nodes that were bad once, and since when they are well."""
        self._remedied_ms: dict[JobId, list[int]] = {}
        self.acts: dict[FaultAction, Callable[[Happening], None]] = {
            FaultAction.STRAGGLER: self._slow_rank,
            FaultAction.HANG: self._hang,
            FaultAction.FLAP: self._flap,
        }

    def make_good(self) -> None:
        """An operator puts back what verdicts took out."""
        trial = self._trial
        self._bad_ms.clear()
        self._well_ms.clear()
        for name in tuple(trial.engine.state.set_aside):
            node = evolve(trial.engine.state.nodes[name], state=NodeState.READY, bad_gpus=())
            trial.engine.observe(NodeChanged(at_ms=trial.now_ms, node=node, because="made good", by="ada"))

    def look(self) -> None:
        """Let probes that have ever flapped say what they find, and record the verdicts that the guard allows."""
        trial, state = self._trial, self._trial.engine.state
        if trial.is_stuck or not (self._bad_ms or self._well_ms):
            return
        nodes = tuple(state.nodes.values())
        cases = [case for node in nodes if (case := self._case(node.name)) is not None]
        wishes = [wish(case, POLICY, trial.now_ms) for case in cases]
        for each in guarded(wishes, nodes, [state.set_aside.get(node.name) for node in nodes], POLICY):
            if each.is_change:
                node = evolve(each.case.node, state=each.state, bad_gpus=each.bad_gpus)
                trial.engine.observe(
                    NodeChanged(at_ms=trial.now_ms, node=node, because=each.because or "well", by=HEALTH)
                )

    def _case(self, name: NodeName) -> NodeCase | None:
        state, bad_ms = self._trial.engine.state, self._bad_ms.get(name)
        node, record = state.nodes[name], state.node_health.get(name, HealthRecord())
        if node.state is NodeState.DOWN or (bad_ms is None and name not in self._well_ms):
            return None
        found = Finding(severity=Severity.BAD, message="its link flaps", evidence_ms=bad_ms or 0)
        return NodeCase(
            node=node,
            set_aside_by=state.set_aside.get(name),
            record=record,
            findings=() if bad_ms is None else (found,),
            entered_ms=record.since_ms,
            well_ms=self._well_ms.get(name),
        )

    def _flap(self, happening: Happening) -> None:
        """Probes of one node, or of all nodes, change their minds."""
        trial, pick = self._trial, happening.pick
        names = tuple(trial.engine.state.nodes)
        for name in names if pick % 4 == 0 else (names[pick % len(names)],):
            if self._bad_ms.pop(name, None) is None:
                self._bad_ms[name] = trial.now_ms
                self._well_ms.pop(name, None)
            else:
                self._well_ms[name] = trial.now_ms

    def _slow_rank(self, happening: Happening) -> None:
        """A rank of a running job is slow, or keeps up again."""
        job, pick = self._running(happening), happening.pick
        if job is None:
            return
        if pick % 5 == 0 and job.stragglers:
            rank = job.stragglers[0].rank
            self._observe(StragglerGone(at_ms=self._trial.now_ms, job=job.id, attempt=job.attempt, rank=rank))
            return
        worker = job.workers[pick // 16 % len(job.workers)]
        for slowdown_milli in range(1_300, 1_300 + VERDICTS_AT_ONCE):
            straggler = Straggler(
                rank=worker.rank,
                worker=worker.rank,
                node=worker.node,
                slowdown_milli=slowdown_milli,
                since_ms=self._trial.now_ms,
            )
            now_ms = self._trial.now_ms
            self._observe(StragglerFound(at_ms=now_ms, job=job.id, attempt=job.attempt, straggler=straggler))

    def _hang(self, happening: Happening) -> None:
        """A running job stands still, or makes steps again."""
        job, pick, now_ms = self._running(happening), happening.pick, self._trial.now_ms
        if job is None:
            return
        if job.hang is not None:
            self._observe(HangOver(at_ms=now_ms, job=job.id, attempt=job.attempt))
            return
        worker = job.workers[pick // 16 % len(job.workers)]
        nodes = (worker.node,) if pick % 2 else ()
        hang = Hang(since_ms=now_ms, ranks=(worker.rank,), nodes=nodes, step=1)
        self._observe(HangFound(at_ms=now_ms, job=job.id, attempt=job.attempt, hang=hang))

    def _running(self, happening: Happening) -> Job | None:
        jobs = [job for job in self._trial.engine.state.jobs.values() if job.state.holds_resources and job.workers]
        return jobs[happening.pick % len(jobs)] if jobs else None

    def _observe(self, verdict: VerdictEvent) -> None:
        trial = self._trial
        before = trial.engine.state.jobs[verdict.job]
        trial.engine.observe(verdict)
        trial.fail_on(self._problems(verdict, before, trial.engine.state.jobs[verdict.job]))
        trial.look(f"{verdict}")

    def _problems(self, verdict: VerdictEvent, before: Job, job: Job) -> Iterator[str]:
        """A verdict starts a running job again only if the job asked for it, and not too often."""
        match verdict:
            case StragglerFound():
                remedy, cause = job.spec.on_straggler, Cause.STRAGGLER
            case HangFound():
                remedy, cause = job.spec.on_hang, Cause.HANG
            case _:
                remedy, cause = Remedy.REPORT, Cause.ERROR
        is_ended = job.state is not before.state
        if not is_ended and (job.generation, job.workers) != (before.generation, before.workers):
            yield f"{job.id}: {cause} changed its workers"
        if not is_ended:
            return
        if remedy is Remedy.REPORT or before.state is not JobState.RUNNING or job.cause is not cause:
            yield f"{job.id}: was {before.state} and is {job.state} for {cause}, and asked to {remedy}"
        if isinstance(verdict, StragglerFound):
            mine = self._remedied_ms.setdefault(job.id, [])
            mine.append(verdict.at_ms)
            recent = [at_ms for at_ms in mine if at_ms > verdict.at_ms - HOUR_MS]
            if len(recent) > REMEDIES_MOST:
                yield f"{job.id}: is started again {len(recent)} times in an hour because of slow ranks"
