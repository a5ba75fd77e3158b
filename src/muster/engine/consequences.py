"""What follows from an event for other jobs and nodes.

Each consequence is an event of its own and is written to the log together with its cause. Dependent jobs are released
or can never run, the next task of an array gets its turn, a draining node that is empty becomes drained, a node that a
job leaves because of a slow or stuck rank becomes suspect, and a job that left to go on at another size starts again.
"""

from collections.abc import Iterator

from muster.core.lifecycle import occupied
from muster.core.lifecycle.dependencies import Fate, Settled, settle
from muster.core.lifecycle.resizing import next_attempt
from muster.core.lifecycle.verdicts import avoided_nodes
from muster.engine.folding.state import Move, Outcome, State
from muster.model.events import (
    ENGINE,
    DependencyFailed,
    DependencyMet,
    Event,
    HangFound,
    NodeChanged,
    StragglerFound,
    TurnCame,
)
from muster.model.ids import JobId, NodeName
from muster.model.job import JobState, Worker
from muster.model.node import NodeState
from muster.model.records import evolve

_FOR_NODES = frozenset({NodeChanged, StragglerFound, HangFound})
"""Events that may concern nodes although no job has ended."""


def consequences(state: State, event: Event, outcome: Outcome) -> tuple[Event, ...]:
    """The events to record next, after an event has just changed the state."""
    # Compares the type itself, because this runs for every event: a negative `isinstance` takes ten times as long.
    if type(event) not in _FOR_NODES and not _concerns_others(state, outcome):
        return ()
    return (
        *_for_dependents(state, event, outcome),
        *_for_arrays(state, event, outcome),
        *_for_nodes(state, event, outcome),
        *_for_avoided_nodes(state, event, outcome),
        *_for_next_attempts(event, outcome),
    )


def _concerns_others(state: State, outcome: Outcome) -> bool:
    """True when the event may concern other jobs or a draining node.

    That is so when a task has ended, or a job that other jobs depend on, when the workers of a job changed while some
    node is draining, or when a job is to start again at another size. Most events end here.
    """
    for move in outcome.moves:
        before, after = move.before, move.after
        if before is None:
            continue
        if after.state.is_final and (after.array_parent is not None or after.id in state.dependents):
            return True
        if after.next_gang and not after.state.holds_resources:
            return True
        if state.draining and (before.workers is not after.workers or before.leaving is not after.leaving):
            return True
    return False


def _for_dependents(state: State, event: Event, outcome: Outcome) -> Iterator[Event]:
    for ended, ending in _endings(state, outcome):
        for settled in settle(ended, ending, state.dependents.get(ended, {}).items()):
            yield _settled_event(settled, event.at_ms)


def _settled_event(settled: Settled, at_ms: int) -> DependencyMet | DependencyFailed:
    kind = DependencyMet if settled.fate is Fate.MET else DependencyFailed
    return kind(at_ms=at_ms, job=settled.job, dependency=settled.dependency)


def _endings(state: State, outcome: Outcome) -> Iterator[tuple[JobId, JobState]]:
    """The jobs that ended, followed by the arrays that ended with their last task."""
    for move in outcome.moves:
        if move.has_ended:
            yield move.after.id, move.after.state
    for array in _arrays(outcome):
        progress = state.arrays[array].progress()
        if progress.state.is_final:
            yield array, progress.state


def _for_arrays(state: State, event: Event, outcome: Outcome) -> Iterator[Event]:
    for array in _arrays(outcome):
        for task in state.arrays[array].turns():
            yield TurnCame(at_ms=event.at_ms, job=task)


def _arrays(outcome: Outcome) -> tuple[JobId, ...]:
    """The arrays that had a task end, each once."""
    parents = (move.after.array_parent for move in outcome.moves if move.has_ended)
    return tuple(dict.fromkeys(parent for parent in parents if parent is not None))


def _for_nodes(state: State, event: Event, outcome: Outcome) -> Iterator[Event]:
    for name in _vacated(event, outcome) if state.draining else ():
        node = state.nodes.get(name)
        if node is not None and node.state is NodeState.DRAINING and not state.jobs_on(name):
            drained = evolve(node, state=NodeState.DRAINED)
            # Why an operator or health took a node out stays of interest when it is empty.
            because = state.node_notes.get(name, "") or "nothing runs here any more"
            yield NodeChanged(at_ms=event.at_ms, node=drained, because=because, by=ENGINE)


def _for_avoided_nodes(state: State, event: Event, outcome: Outcome) -> Iterator[Event]:
    """A node that a job asked to have replaced is used last from now on, by this job and by others."""
    if not isinstance(event, StragglerFound | HangFound):
        return
    what = "was slower than its peers" if isinstance(event, StragglerFound) else "stood still"
    for move in outcome.moves:
        for name in () if move.before is None else avoided_nodes(move.before, move.after, event):
            node = state.nodes.get(name)
            if node is not None and node.state is NodeState.READY:
                because = f"a rank of {event.job} {what} here"
                suspect = evolve(node, state=NodeState.SUSPECT)
                yield NodeChanged(at_ms=event.at_ms, node=suspect, because=because, by=ENGINE)


def _for_next_attempts(event: Event, outcome: Outcome) -> Iterator[Event]:
    """A job that left its GPUs only to go on at another size starts again, before anybody else can have them."""
    for move in outcome.moves:
        started = None if move.before is None else next_attempt(move.before, move.after, event.at_ms)
        if started is not None:
            yield started


def _vacated(event: Event, outcome: Outcome) -> tuple[NodeName, ...]:
    """Nodes that may have become empty, each once."""
    named = [event.node.name] if isinstance(event, NodeChanged) else []
    left = [worker.node for move in outcome.moves for worker in _departed(move)]
    return tuple(dict.fromkeys((*named, *left)))


def _departed(move: Move) -> tuple[Worker, ...]:
    """The workers that no longer occupy their GPUs."""
    if move.before is None or (move.before.workers, move.before.leaving) == (move.after.workers, move.after.leaving):
        return ()
    staying = frozenset(occupied(move.after))
    return tuple(worker for worker in occupied(move.before) if worker not in staying)
