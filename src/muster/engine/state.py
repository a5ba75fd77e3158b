"""What the log says, folded: every job, array and node, and the scheduling snapshot in step with them.

`fold` is the only thing that changes a `State`. The same log always folds to the same state.
"""

from collections.abc import Iterable

from muster.core.arrays import ArrayTally
from muster.core.lifecycle import created, occupied, standing_kill, transition
from muster.core.lifecycle.updating import updated_spec
from muster.core.snapshot import Snapshot
from muster.engine.patience import Patience
from muster.engine.projection import mirror
from muster.model.errors import InvalidInput
from muster.model.events import (
    CONFIGURATION,
    ENGINE,
    CheckpointSaved,
    ClusterChanged,
    Event,
    HoldsSet,
    JobEvent,
    JobStarted,
    JobSubmitted,
    JobUpdated,
    NodeChanged,
    NodeLost,
    RulesChanged,
    StartFailed,
    TimerFired,
    WorkersExited,
    WorkersStarted,
)
from muster.model.ids import JobId, NodeName
from muster.model.instructions import Command, Instruction, KillWorkers
from muster.model.job import Job, JobState
from muster.model.node import ClusterSpec, Node, NodeState
from muster.model.records import changed
from muster.model.scenario import Rules, Scenario
from muster.model.spec import Dependency, JobSpec


class Move:
    """What one event did to one job. Plain, as is `Outcome`: one of each is made for every event."""

    __slots__ = ("after", "before", "instructions")

    def __init__(self, before: Job | None, after: Job, instructions: tuple[Instruction, ...] = ()) -> None:
        self.before = before
        """None when the job is new."""
        self.after = after
        self.instructions = instructions

    @property
    def has_ended(self) -> bool:
        """True when this was the job's end."""
        return self.after.state.is_final and self.before is not None and not self.before.state.is_final


class Outcome:
    """What one event did to the state."""

    __slots__ = ("commands", "is_change", "moves")

    def __init__(
        self, moves: tuple[Move, ...] = (), commands: tuple[Command, ...] = (), *, is_change: bool = True
    ) -> None:
        self.moves = moves
        """Jobs that it changed, in order."""
        self.commands = commands
        """What must be sent besides what its moves ask for."""
        self.is_change = is_change
        """False when the event was stale or said nothing new: it need not be remembered."""


_NOTHING = Outcome(is_change=False)


class State:
    """Everything the engine knows. Read it freely; only `fold` may change it."""

    def __init__(self, scenario: Scenario) -> None:
        if scenario.running or scenario.waiting:
            raise InvalidInput("an engine starts from a cluster and its rules; jobs come to it by its log")
        self.snapshot = Snapshot.of(scenario)
        if scenario.turn_ms is None:
            # Where nothing has ended yet, somebody who comes must not wait for weeks for the first who came.
            self.snapshot.turn_ms = self.snapshot.run_times.turn_ms()
        self.version = 0
        """How many events were folded."""
        self.now_ms = scenario.now_ms
        """When the last of them happened."""
        self.jobs: dict[JobId, Job] = {}
        self.nodes: dict[NodeName, Node] = {node.name: node for node in scenario.cluster.nodes}
        self.draining = draining_among(scenario.cluster.nodes)
        """Nodes that are drained once nothing runs there any more."""
        self.arrays: dict[JobId, ArrayTally] = {}
        self.array_specs: dict[JobId, JobSpec] = {}
        self.occupying: dict[JobId, None] = {}
        """Jobs that have GPUs."""
        self.dependents: dict[JobId, dict[JobId, tuple[Dependency, ...]]] = {}
        """For each job or array, who depends on it and how."""
        self.node_faults: dict[NodeName, int] = {}
        """Faults in a row on each node, for its health; work that went well there forgives them."""
        self.set_aside: dict[NodeName, str] = {}
        """Nodes that somebody drained, and who."""
        self.node_notes: dict[NodeName, str] = {}
        """Why each node is in the state it is in, as far as somebody said."""
        self.patience = _new_patience(self.snapshot) if scenario.policy.takes_turns else None
        """Watches jobs that gave way; None when the policy lets nobody ask for that."""
        self.configured: Rules | None = None
        """The rules that the configuration asked for last; others may have changed them since."""
        self.lost: dict[NodeName, tuple[KillWorkers, ...]] = {}
        """What was running on each node when it was last lost."""
        self.submissions = 0
        self.keys: dict[tuple[str, str], tuple[JobId, str]] = {}
        """What became of requests that were given a key, and their fingerprints, by who asked and the key."""
        self.users: dict[JobId, str] = {}
        """Who submitted each job or array."""

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

    def kills_on(self, node: NodeName) -> tuple[KillWorkers, ...]:
        """Kills of what a lost node was running, for when it may not have heard of them."""
        kills = (standing_kill(self.jobs[kill.job], kill) for kill in self.lost.get(node, ()))
        return tuple(kill for kill in kills if kill is not None)

    def jobs_on(self, node: NodeName) -> tuple[JobId, ...]:
        """The jobs that have a worker on a node, by id."""
        found = (job for job in self.occupying if any(worker.node == node for worker in occupied(self.jobs[job])))
        return tuple(sorted(found))


def fold(state: State, event: Event) -> Outcome:
    """Take an event into the state."""
    if event.at_ms > state.now_ms:
        state.now_ms = event.at_ms
    # What there is most of comes first: a case that does not match costs as much as many a step.
    match event:
        case JobSubmitted():
            outcome = _submit(state, event)
        case WorkersStarted() | WorkersExited() | JobStarted() | CheckpointSaved() | TimerFired():
            outcome = _move_all(state, event, state.addressed(event.job))
            _forgive_nodes(state, event, outcome)
        case _:
            outcome = _fold_rare(state, event)
    state.version += outcome.is_change
    return outcome


def _fold_rare(state: State, event: Event) -> Outcome:
    match event:
        case HoldsSet(holds=holds):
            state.snapshot.hold(holds)
            return Outcome()
        case NodeChanged():
            outcome = _hear_of_node(state, event)
            if outcome.is_change:
                state.node_notes[event.node.name] = event.because
            return outcome
        case NodeLost():
            return _lose_node(state, event)
        case RulesChanged():
            return _change_rules(state, event)
        case ClusterChanged(cluster=cluster):
            return _change_cluster(state, cluster, event.at_ms)
        case _:
            if isinstance(event, JobUpdated) and event.job in state.array_specs:
                state.array_specs[event.job] = updated_spec(state.array_specs[event.job], event.changes)
            outcome = _move_all(state, event, state.addressed(event.job))
            if isinstance(event, StartFailed):
                _blame_nodes(state, event, outcome)
            else:
                _forgive_nodes(state, event, outcome)
            return outcome


def _submit(state: State, event: JobSubmitted) -> Outcome:
    if event.job in state.jobs or event.job in state.arrays:
        return _NOTHING
    state.submissions += 1
    state.users[event.job] = event.by
    if event.key:
        state.keys[event.by, event.key] = (event.job, event.fingerprint)
    for dependency in event.spec.depends_on:
        state.dependents.setdefault(dependency.job, {})[event.job] = event.spec.depends_on
    moves = tuple([Move(None, job) for job in created(event)])
    tally = None if event.spec.array is None else ArrayTally(event.job, event.spec.array)
    for move in moves:
        _place(state, move, event.at_ms, tally)
    if tally is not None:
        # Last: whoever reads on another thread and finds the array finds its tasks too.
        state.array_specs[event.job] = event.spec
        state.arrays[event.job] = tally
    return Outcome(moves)


def _hear_of_node(state: State, event: NodeChanged) -> Outcome:
    before = state.nodes.get(event.node.name)
    outcome = _change_node(state, _as_wished(state, event))
    if before is None:
        return outcome
    moves, commands = outcome.moves, outcome.commands
    if before.bad_gpus != event.node.bad_gpus:
        moves = _move_all(state, event, state.jobs_on(event.node.name)).moves
    match before.state is NodeState.DOWN, event.node.state is NodeState.DOWN:
        case True, False:
            commands = state.kills_on(event.node.name)
        case False, True:
            # What it is running now is lost next; what it was running at an earlier loss was killed when it came back.
            state.lost.pop(event.node.name, None)
        case _:
            pass
    return Outcome(moves, commands, is_change=outcome.is_change)


def _as_wished(state: State, event: NodeChanged) -> Node:
    """The node as it was reported, unless somebody set it aside: a node that is only back stays drained."""
    node = event.node
    if event.by not in ("", ENGINE):
        if node.state in (NodeState.DRAINING, NodeState.DRAINED):
            state.set_aside[node.name] = event.by
        else:
            state.set_aside.pop(node.name, None)
    elif node.state is NodeState.READY and node.name in state.set_aside:
        return changed(node, state=NodeState.DRAINED)
    return node


def _change_node(state: State, node: Node) -> Outcome:
    if state.nodes.get(node.name) == node:
        return _NOTHING
    state.nodes[node.name] = node
    if node.state is NodeState.DRAINING:
        state.draining[node.name] = None
    else:
        state.draining.pop(node.name, None)
    state.snapshot.change_node(node)
    if state.patience is not None:
        state.patience.resize(state.snapshot.setting.gpu_milli, state.now_ms)
    return Outcome()


def _change_rules(state: State, event: RulesChanged) -> Outcome:
    state.snapshot.change_rules(event.rules, event.at_ms)
    if event.by == CONFIGURATION:
        state.configured = event.rules
    if not event.rules.policy.takes_turns:
        state.patience = None
    elif state.patience is None:
        state.patience = _patience_with(state, event.at_ms)
    if state.patience is not None:
        for job in state.jobs.values():
            state.patience.watch(job, event.at_ms)
    return Outcome()


def _change_cluster(state: State, cluster: ClusterSpec, at_ms: int) -> Outcome:
    state.nodes = {node.name: node for node in cluster.nodes}
    state.draining = draining_among(cluster.nodes)
    state.node_faults = {name: count for name, count in state.node_faults.items() if name in state.nodes}
    state.node_notes = {name: note for name, note in state.node_notes.items() if name in state.nodes}
    state.snapshot.change_cluster(cluster)
    if state.patience is not None:
        state.patience.resize(state.snapshot.setting.gpu_milli, at_ms)
    return Outcome()


def draining_among(nodes: Iterable[Node]) -> dict[NodeName, None]:
    """Those of the nodes that are drained once nothing runs there any more."""
    return {node.name: None for node in nodes if node.state is NodeState.DRAINING}


def _patience_with(state: State, at_ms: int) -> Patience:
    """A line that everybody stands in who has not ended, as if it had been kept from the beginning.

    What each is due is kept from now on.
    """
    state.snapshot.entitle_anew(at_ms)
    patience = _new_patience(state.snapshot)
    for job in state.jobs.values():
        if not job.state.is_final:
            for due in patience.follow(None, job, at_ms):
                patience.note(state.jobs[due], at_ms)
    return patience


def _new_patience(snapshot: Snapshot) -> Patience:
    return Patience(snapshot.setting.gpu_milli, snapshot.entitlements)


def _lose_node(state: State, event: NodeLost) -> Outcome:
    node = state.nodes.get(event.node)
    if node is None:
        return _NOTHING
    is_news = _change_node(state, changed(node, state=NodeState.DOWN)).is_change
    outcome = _move_all(state, event, state.jobs_on(event.node))
    sent = (instruction for move in outcome.moves for instruction in move.instructions)
    kills = tuple(instruction for instruction in sent if isinstance(instruction, KillWorkers))
    state.lost[event.node] = kills if is_news else (*state.lost.get(event.node, ()), *kills)
    if is_news or outcome.is_change:
        state.node_notes[event.node] = event.because
        state.node_faults[event.node] = state.node_faults.get(event.node, 0) + 1
    return Outcome(moves=outcome.moves, is_change=is_news or outcome.is_change)


def _move_all(state: State, event: JobEvent | NodeChanged | NodeLost, jobs: Iterable[JobId]) -> Outcome:
    moves = []
    for job in jobs:
        before = state.jobs[job]
        after, instructions = transition(before, event)
        if after is not before and after != before:
            move = Move(before, after, instructions)
            _place(state, move, event.at_ms)
            moves.append(move)
    return Outcome(tuple(moves)) if moves else _NOTHING


def _place(state: State, move: Move, at_ms: int, tally: ArrayTally | None = None) -> None:
    """Put the job's new record in the place of the old one, everywhere; `tally` is of an array that is new."""
    after = move.after
    state.jobs[after.id] = after
    if after.state.holds_resources:
        state.occupying[after.id] = None
    else:
        state.occupying.pop(after.id, None)
    if after.array_parent is not None:
        array = state.arrays[after.array_parent] if tally is None else tally
        array.move(move.before, after)
    mirror(state.snapshot, move.before, after, at_ms)
    if state.patience is not None:
        for job in state.patience.follow(move.before, after, at_ms):
            state.patience.note(state.jobs[job], at_ms)


def _blame_nodes(state: State, event: StartFailed, outcome: Outcome) -> None:
    """Count starts that failed against their nodes."""
    for move in outcome.moves:
        seated = occupied(move.before or move.after)
        for node in dict.fromkeys(worker.node for worker in seated if worker.rank in event.ranks):
            state.node_faults[node] = state.node_faults.get(node, 0) + 1


def _forgive_nodes(state: State, event: JobEvent, outcome: Outcome) -> None:
    """Forget the faults of nodes on which work went well."""
    for move in outcome.moves if state.node_faults else ():
        if isinstance(event, CheckpointSaved) or move.after.state is JobState.SUCCEEDED:
            for worker in occupied(move.before or move.after):
                state.node_faults.pop(worker.node, None)
