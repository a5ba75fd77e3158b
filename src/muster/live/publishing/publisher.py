"""Turns what a write changed into the view that readers see. Runs on the writer's thread."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from immutables import Map

from muster.engine.folding.state import State
from muster.live.publishing.feed import Feed, Published
from muster.model.array import ArrayRecord, JobRecord
from muster.model.events import (
    ClusterChanged,
    Event,
    JobSubmitted,
    NodeChanged,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    RulesChanged,
)
from muster.model.ids import JobId
from muster.model.job import Job
from muster.model.scenario import Rules
from muster.views.view import View

if TYPE_CHECKING:
    from immutables._protocols import MapMutation

T = TypeVar("T")

NOTHING = View(
    version=0,
    now_ms=0,
    jobs=Map(),
    running=Map(),
    arrays=Map(),
    nodes={},
    node_notes={},
    set_aside={},
    node_health={},
    spares=(),
    reservations=(),
    levels=(),
    quarantine={},
    rules=Rules(),
    promises={},
    usage=(),
)

_OF_NODES = (ClusterChanged, NodeChanged, NodeLost, NodeReturned, NodeUnreachable)


class Publisher:
    """Makes each view from the one before. Views share what a write did not change."""

    def __init__(self, feed: Feed) -> None:
        self.view = NOTHING
        self._feed = feed

    def begin(self, state: State) -> None:
        """Publish a whole state that was folded from the log."""
        records: list[JobRecord] = [*state.jobs.values(), *map(state.array_record, state.arrays)]
        self.view = _next(NOTHING, state, records, nodes=True, rules=True)
        self._feed.catch_up(state.version)

    def publish(self, state: State, events: Sequence[Event], records: Sequence[JobRecord]) -> None:
        """Publish the state after these events, which are durable now; then wake the watchers."""
        nodes = any(isinstance(event, _OF_NODES) for event in events)
        rules = any(isinstance(event, RulesChanged) for event in events)
        self.view = _next(self.view, state, records, nodes=nodes, rules=rules)
        self._feed.publish([_published(event, state) for event in events])


def _next(before: View, state: State, records: Sequence[JobRecord], *, nodes: bool, rules: bool) -> View:
    """The view after these records changed. `nodes` and `rules` say whether those changed too."""
    jobs, running, arrays = before.jobs.mutate(), before.running.mutate(), before.arrays.mutate()
    for record in records:
        if isinstance(record, ArrayRecord):
            _put(arrays, record.id, None if record.state.is_final else record)
            for task in state.arrays[record.id].tasks if record.state.is_final else ():
                jobs.pop(task, None)
        else:
            _put(jobs, record.id, record if _is_shown(record) else None)
            _put(running, record.id, record if record.state.holds_resources else None)
    snapshot = state.snapshot
    return View(
        version=state.version,
        now_ms=state.now_ms,
        jobs=jobs.finish(),
        running=running.finish(),
        arrays=arrays.finish(),
        nodes=dict(state.nodes) if nodes else before.nodes,
        node_notes=dict(state.node_notes) if nodes else before.node_notes,
        set_aside=dict(state.set_aside) if nodes else before.set_aside,
        node_health=dict(state.node_health) if nodes else before.node_health,
        spares=state.spares,
        reservations=snapshot.setting.reservations,
        levels=snapshot.cluster.levels,
        quarantine=dict(state.quarantine.gangs),
        rules=state.rules if rules else before.rules,
        promises=dict(snapshot.promises),
        usage=snapshot.ledger.record(),
    )


def _put(records: "MapMutation[JobId, T]", job: JobId, record: T | None) -> None:
    if record is None:
        records.pop(job, None)
    else:
        records[job] = record


def _is_shown(job: Job) -> bool:
    """True for a job that has not ended, and for any task: tasks leave with their array, whose record comes last."""
    return job.array_parent is not None or not job.state.is_final


def _published(event: Event, state: State) -> Published:
    """The event with the team and the user of its job, if the job is in the state."""
    job: JobId | None = getattr(event, "job", None)
    if isinstance(event, JobSubmitted):
        return Published(event, event.spec.team, event.by)
    known = () if job is None else state.addressed(job)
    if not known:
        return Published(event)
    record = state.jobs[known[0]]
    return Published(event, record.spec.team, record.user)
