"""Keeps the history up to date with what the engine folds, and lets any thread read it.

What is folded counts only once it is durable: until then it waits. If a write fails, the engine is dropped and this
keeper with it.
"""

from collections.abc import Mapping
from threading import Lock
from typing import NamedTuple

from muster.engine.folding.state import Move, Outcome, State
from muster.model.events import (
    ClusterChanged,
    Event,
    NodeChanged,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    RulesChanged,
)
from muster.model.ids import NodeName
from muster.model.node import Node
from muster.model.saved_state import HistoryRecord
from muster.model.scenario import Rules
from muster.views.gauges import Gauges, waited
from muster.views.history import Bucket, UsageHistory

_OF_ONE_NODE = (NodeLost, NodeReturned, NodeUnreachable)


class _Change(NamedTuple):
    """What one event changed, and when."""

    at_ms: int
    moves: tuple[Move, ...]
    nodes: Mapping[NodeName, Node] | None
    """All nodes, when the cluster is another one."""
    node: Node | None
    """The one node that is different now."""
    rules: Rules | None


class HistoryKeeper:
    """The writer tells it what it folds and when that is durable."""

    def __init__(self, state: State | None, record: HistoryRecord | None) -> None:
        """Go on from a saved state. Without a state, the log is folded from its beginning."""
        self._history = UsageHistory(record)
        if state is None:
            self._gauges = Gauges((), {}, Rules())
        else:
            self._gauges = Gauges(state.jobs.values(), dict(state.nodes), state.snapshot.rules)
            self._history.pass_until(state.now_ms, self._gauges.now)
        self._lock = Lock()
        self._unwritten: list[_Change] | None = None
        """None while the log is folded at the start: everything in it is durable."""

    def follow(self, state: State, event: Event, outcome: Outcome) -> None:
        """An event was folded. Called on the writer's thread."""
        nodes = dict(state.nodes) if isinstance(event, ClusterChanged) else None
        node = _changed_node(state, event)
        rules = state.snapshot.rules if isinstance(event, RulesChanged) else None
        if outcome.moves or nodes is not None or node is not None or rules is not None:
            change = _Change(state.now_ms, outcome.moves, nodes, node, rules)
            if self._unwritten is None:
                self._take(change)
            else:
                self._unwritten.append(change)

    def publish(self) -> None:
        """All that was folded is durable now. Called on the writer's thread."""
        changes, self._unwritten = self._unwritten or (), []
        with self._lock:
            for change in changes:
                self._take(change)

    def record(self) -> HistoryRecord | None:
        """The history as plain values, to be saved with the state. Called on the writer's thread."""
        return self._history.record()

    def buckets(self, step_ms: int, since_ms: int, now_ms: int) -> list[Bucket]:
        """The buckets from the one that holds `since_ms` until now, oldest first."""
        with self._lock:
            history, gauges = self._history.fork(since_ms), self._gauges.now.copy()
        if history.at_ms is not None:
            history.pass_until(now_ms, gauges)
        return history.buckets(step_ms, since_ms)

    def _take(self, change: _Change) -> None:
        self._history.pass_until(change.at_ms, self._gauges.now)
        if change.nodes is not None:
            self._gauges.use_nodes(change.nodes)
        if change.node is not None:
            self._gauges.change_nodes({change.node.name: change.node})
        if change.rules is not None:
            self._gauges.use_rules(change.rules)
        for move in change.moves:
            self._gauges.move(move.before, move.after)
            waited_ms = waited(move.before, move.after)
            if waited_ms is not None:
                self._history.note_start(move.after.spec.tier, waited_ms)


def _changed_node(state: State, event: Event) -> Node | None:
    """The node that an event is about, as it is now."""
    if isinstance(event, NodeChanged):
        return state.nodes.get(event.node.name)
    return state.nodes.get(event.node) if isinstance(event, _OF_ONE_NODE) else None
