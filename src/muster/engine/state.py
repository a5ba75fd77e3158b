"""What the log says, folded: every job, array and node, and the scheduling snapshot in step with them.

`fold` is the only thing that changes a `State`. The same log always folds to the same state.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from muster.core.arrays import ArrayTally
from muster.core.lifecycle import created, occupied, transition
from muster.core.snapshot import Snapshot
from muster.engine.patience import Patience
from muster.engine.projection import mirror
from muster.model.errors import InvalidInput
from muster.model.events import (
    CheckpointSaved,
    Event,
    HoldsSet,
    JobEvent,
    JobSubmitted,
    NodeChanged,
    NodeLost,
    StartFailed,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Instruction
from muster.model.job import Job, JobState
from muster.model.node import Node, NodeState
from muster.model.resources import GPU_MILLI
from muster.model.scenario import Scenario
from muster.model.spec import Dependency, JobSpec


class Move(NamedTuple):
    """What one event did to one job. A tuple, as is `Outcome`: one of each is made for every event."""

    before: Job | None
    """None when the job is new."""
    after: Job
    instructions: tuple[Instruction, ...] = ()

    @property
    def has_ended(self) -> bool:
        """True when this was the job's end."""
        return self.after.state.is_final and self.before is not None and not self.before.state.is_final


class Outcome(NamedTuple):
    """What one event did to the state."""

    moves: tuple[Move, ...] = ()
    """Jobs that it changed, in order."""
    is_change: bool = True
    """False when the event was stale or said nothing new: it need not be remembered."""


_NOTHING = Outcome(is_change=False)


class State:
    """Everything the engine knows. Read it freely; only `fold` may change it."""

    def __init__(self, scenario: Scenario) -> None:
        if scenario.running or scenario.waiting:
            raise InvalidInput("an engine starts from a cluster and its rules; jobs come to it by its log")
        self.snapshot = Snapshot.of(scenario)
        self.version = 0
        """How many events were folded."""
        self.now_ms = scenario.now_ms
        """When the last of them happened."""
        self.jobs: dict[JobId, Job] = {}
        self.nodes: dict[NodeName, Node] = {node.name: node for node in scenario.cluster.nodes}
        self.draining = {node.name: None for node in scenario.cluster.nodes if node.state is NodeState.DRAINING}
        """Nodes that are drained once nothing runs there any more."""
        self.arrays: dict[JobId, ArrayTally] = {}
        self.array_specs: dict[JobId, JobSpec] = {}
        self.occupying: dict[JobId, None] = {}
        """Jobs that have GPUs."""
        self.dependents: dict[JobId, dict[JobId, tuple[Dependency, ...]]] = {}
        """For each job or array, who depends on it and how."""
        self.node_faults: dict[NodeName, int] = {}
        """Faults in a row on each node, for its health; work that went well there forgives them."""
        capacity_milli = sum(node.gpus for node in scenario.cluster.nodes) * GPU_MILLI
        self.patience = Patience(capacity_milli) if scenario.policy.takes_turns else None
        """Watches jobs that gave way; None when the policy lets nobody ask for that."""
        self.submissions = 0

    def state_of(self, job: JobId) -> JobState | None:
        """The state of a job, or of an array as a whole; None when there is no such thing."""
        if job in self.arrays:
            return self.arrays[job].progress().state
        return self.jobs[job].state if job in self.jobs else None

    def addressed(self, job: JobId) -> tuple[JobId, ...]:
        """The jobs that an event for `job` is for: itself, every task if it is an array, none if it is unknown."""
        if job in self.arrays:
            return self.arrays[job].tasks
        return (job,) if job in self.jobs else ()

    def jobs_on(self, node: NodeName) -> tuple[JobId, ...]:
        """The jobs that have a worker on a node, by id."""
        found = (job for job in self.occupying if any(worker.node == node for worker in occupied(self.jobs[job])))
        return tuple(sorted(found))


def fold(state: State, event: Event) -> Outcome:
    """Take an event into the state."""
    if event.at_ms > state.now_ms:
        state.now_ms = event.at_ms
    match event:
        case JobSubmitted():
            outcome = _submit(state, event)
        case HoldsSet(holds=holds):
            state.snapshot.hold(holds)
            outcome = Outcome()
        case NodeChanged(node=node):
            outcome = _change_node(state, node)
        case NodeLost():
            outcome = _lose_node(state, event)
        case _:
            outcome = _move_all(state, event, state.addressed(event.job))
            _tally_faults(state, event, outcome)
    state.version += outcome.is_change
    return outcome


def _submit(state: State, event: JobSubmitted) -> Outcome:
    if event.job in state.jobs or event.job in state.arrays:
        return _NOTHING
    state.submissions += 1
    if event.spec.array is not None:
        state.arrays[event.job] = ArrayTally(event.job, event.spec.array)
        state.array_specs[event.job] = event.spec
    for dependency in event.spec.depends_on:
        state.dependents.setdefault(dependency.job, {})[event.job] = event.spec.depends_on
    moves = tuple([Move(None, job) for job in created(event)])
    for move in moves:
        _place(state, move, event.at_ms)
    return Outcome(moves)


def _change_node(state: State, node: Node) -> Outcome:
    if state.nodes.get(node.name) == node:
        return _NOTHING
    state.nodes[node.name] = node
    if node.state is NodeState.DRAINING:
        state.draining[node.name] = None
    else:
        state.draining.pop(node.name, None)
    state.snapshot.change_node(node)
    return Outcome()


def _lose_node(state: State, event: NodeLost) -> Outcome:
    node = state.nodes.get(event.node)
    if node is None:
        return _NOTHING
    is_news = _change_node(state, replace(node, state=NodeState.DOWN)).is_change
    outcome = _move_all(state, event, state.jobs_on(event.node))
    if is_news or outcome.is_change:
        state.node_faults[event.node] = state.node_faults.get(event.node, 0) + 1
    return Outcome(moves=outcome.moves, is_change=is_news or outcome.is_change)


def _move_all(state: State, event: JobEvent | NodeLost, jobs: Iterable[JobId]) -> Outcome:
    moves = []
    for job in jobs:
        before = state.jobs[job]
        after, instructions = transition(before, event)
        if after is not before and after != before:
            move = Move(before, after, instructions)
            _place(state, move, event.at_ms)
            moves.append(move)
    return Outcome(tuple(moves)) if moves else _NOTHING


def _place(state: State, move: Move, at_ms: int) -> None:
    """Put the job's new record in the place of the old one, everywhere."""
    after = move.after
    state.jobs[after.id] = after
    if after.state.holds_resources:
        state.occupying[after.id] = None
    else:
        state.occupying.pop(after.id, None)
    if after.array_parent is not None:
        state.arrays[after.array_parent].move(move.before, after)
    mirror(state.snapshot, move.before, after, at_ms)
    if state.patience is not None:
        for job in state.patience.follow(move.before, after):
            state.patience.note(state.jobs[job], at_ms)


def _tally_faults(state: State, event: JobEvent, outcome: Outcome) -> None:
    """Count starts that failed against their nodes, and forgive nodes on which work went well."""
    if isinstance(event, StartFailed):
        for move in outcome.moves:
            seated = occupied(move.before or move.after)
            for node in dict.fromkeys(worker.node for worker in seated if worker.rank in event.ranks):
                state.node_faults[node] = state.node_faults.get(node, 0) + 1
        return
    for move in outcome.moves if state.node_faults else ():
        if isinstance(event, CheckpointSaved) or move.after.state is JobState.SUCCEEDED:
            for worker in occupied(move.before or move.after):
                state.node_faults.pop(worker.node, None)
