"""Keeps as many spares as the policy says, and lets jobs that lost a node have them before all other jobs.

Jobs that wait because of the loss start on them. Jobs that went on without workers get others in their place.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from muster.core.plan_lint import lint
from muster.core.spares import SpareChoice, replacements_on_spares, starts_on_spares
from muster.engine.apply import Applied, apply
from muster.engine.folding.state import State
from muster.model.events import Event, SparesSet
from muster.model.ids import JobId
from muster.model.job import Cause
from muster.model.plan import Plan
from muster.model.records import evolve
from muster.model.resources import GPU_MILLI


class SpareNodes:
    """Looks after the spares of one engine."""

    def __init__(self, state: State, *, record: Callable[[Event], bool], batch: AbstractContextManager[None]) -> None:
        self._state = state
        self._record = record
        self._batch = batch
        self._choice = SpareChoice()
        self._seen: int | None = None
        """The version of the snapshot at the last look. Nothing depends on time alone."""

    def look_after(self, now_ms: int) -> None:
        """Start jobs that lost a node on what is free or kept, then keep free nodes. Called before a plan is made."""
        snapshot = self._state.snapshot
        if not snapshot.setting.policy.spares or self._seen == snapshot.version:
            return
        with self._batch:
            self._start_recovering(now_ms)
            is_short = any(job.lost_workers for job in snapshot.elastic.values())
            resizes = replacements_on_spares(snapshot, now_ms) if is_short else ()
            if resizes:
                self._carry_out(Plan(version=0, now_ms=now_ms, resizes=resizes))
            self._keep(now_ms)
            # A node that another job was promised is not free, and is kept nevertheless: now they may have it.
            if self._start_recovering(now_ms):
                self._keep(now_ms)
        self._seen = snapshot.version

    def _start_recovering(self, now_ms: int) -> bool:
        """Start jobs that lost a node on what is free or kept; False when there are none, or no room."""
        recovering = self._recovering()
        starts = starts_on_spares(self._state.snapshot, recovering, now_ms) if recovering else ()
        if starts:
            self._carry_out(Plan(version=0, now_ms=now_ms, starts=starts))
        return bool(starts)

    def _keep(self, now_ms: int) -> None:
        """Keep free nodes, as many as the policy says."""
        nodes = self._choice.choose(self._state.snapshot, self._state.spares)
        self._record(SparesSet(at_ms=now_ms, nodes=nodes))

    def _recovering(self) -> tuple[JobId, ...]:
        """Waiting jobs that lost a node, apart from jobs that need more GPUs than are free and kept together."""
        state, snapshot = self._state, self._state.snapshot
        kept_milli = sum(state.nodes[name].gpus for name in state.spares) * GPU_MILLI
        room_milli = sum(snapshot.capacity.free_milli[0]) + kept_milli
        return tuple(
            job_id
            for job_id, group in snapshot.queue.class_of.items()
            if group.gpu_milli <= room_milli and state.jobs[job_id].cause is Cause.NODE_FAILURE
        )

    def _carry_out(self, decided: Plan) -> None:
        """Give the spares that the plan needs to it, and carry it out. Promises stay as they are."""
        state, snapshot = self._state, self._state.snapshot
        gangs = (*(each.workers for each in decided.starts), *(each.workers for each in decided.resizes))
        used = frozenset(worker.node for workers in gangs for worker in workers)
        left = tuple(name for name in state.spares if name not in used)
        self._record(SparesSet(at_ms=decided.now_ms, nodes=left))
        plan = evolve(decided, version=snapshot.version)
        started = frozenset(start.job for start in plan.starts)
        promises = tuple(promise for promise in snapshot.promises.values() if promise.job not in started)
        outcome = apply(evolve(plan, promises=promises), lint(plan, snapshot), state)
        for event in outcome.events if isinstance(outcome, Applied) else ():
            self._record(event)
