"""From an event to the state. The same log always folds to the same state.

Events change a `State` only here. Besides, `forgetting` drops jobs that have ended, and the engine notes which jobs are
stuck and when the starvation watch checks a job again.
"""

from muster.core.lifecycle import created
from muster.core.lifecycle.arrays import ArrayTally
from muster.core.lifecycle.updating import updated_spec
from muster.engine.folding.node_folding import (
    adopt,
    blame_nodes,
    doom,
    fold_node_event,
    forgive_nodes,
    release,
    set_spares,
)
from muster.engine.folding.state import (
    NOTHING,
    Move,
    Outcome,
    State,
    draining_among,
    move_all,
    new_starvation_watch,
    place,
)
from muster.engine.starvation_watch import StarvationWatch
from muster.model.events import (
    CONFIGURATION,
    CheckpointSaved,
    ClusterChanged,
    Event,
    GangAdopted,
    GangKillOrdered,
    GangsFound,
    HoldsSet,
    JobStarted,
    JobSubmitted,
    JobUpdated,
    NodeChanged,
    NodeLost,
    NodeReturned,
    NodeUnreachable,
    RulesChanged,
    SparesSet,
    StartFailed,
    TimerFired,
    WorkersExited,
    WorkersStarted,
)
from muster.model.node import ClusterSpec
from muster.model.records import evolve


def fold(state: State, event: Event) -> Outcome:
    """Apply an event to the state."""
    if event.at_ms > state.now_ms:
        state.now_ms = event.at_ms
    # The most frequent events come first, because a case that does not match is expensive too.
    match event:
        case JobSubmitted():
            outcome = _submit(state, event)
        case WorkersStarted() | WorkersExited() | JobStarted() | CheckpointSaved() | TimerFired():
            outcome = move_all(state, event, state.addressed(event.job))
            forgive_nodes(state, event, outcome)
            if state.quarantine and isinstance(event, WorkersExited):
                outcome = release(state, event, outcome)
        case _:
            outcome = _fold_rare(state, event)
    state.version += outcome.is_change
    return outcome


def _fold_rare(state: State, event: Event) -> Outcome:
    match event:
        case HoldsSet(holds=holds):
            state.snapshot.promise(holds)
            return Outcome()
        case NodeChanged() | NodeUnreachable() | NodeReturned() | NodeLost() | GangsFound():
            return fold_node_event(state, event)
        case SparesSet(nodes=nodes):
            return set_spares(state, nodes)
        case GangAdopted():
            return adopt(state, event)
        case GangKillOrdered():
            return doom(state, event)
        case RulesChanged():
            return _change_rules(state, event)
        case ClusterChanged(cluster=cluster):
            return _change_cluster(state, cluster, event.at_ms)
        case _:
            if isinstance(event, JobUpdated) and event.job in state.array_specs:
                state.array_specs[event.job] = updated_spec(state.array_specs[event.job], event.changes)
            outcome = move_all(state, event, state.addressed(event.job))
            if not isinstance(event, StartFailed):
                forgive_nodes(state, event, outcome)
                return outcome
            blame_nodes(state, event, outcome)
            return release(state, event, outcome)


def _submit(state: State, event: JobSubmitted) -> Outcome:
    if event.job in state.jobs or event.job in state.arrays:
        return NOTHING
    state.submissions += 1
    if event.key:
        state.keys[event.by, event.key] = (event.job, event.fingerprint)
        state.key_of[event.job] = (event.by, event.key)
    for dependency in event.spec.depends_on:
        state.dependents.setdefault(dependency.job, {})[event.job] = event.spec.depends_on
    moves = tuple([Move(None, job) for job in created(event, state.submissions)])
    tally = None if event.spec.array is None else ArrayTally(event.job, event.spec.array)
    for move in moves:
        place(state, move, event.at_ms, tally)
    if tally is not None:
        state.array_specs[event.job] = event.spec
        state.arrays[event.job] = tally
    return Outcome(moves)


def _change_rules(state: State, event: RulesChanged) -> Outcome:
    state.snapshot.change_rules(event.rules, event.at_ms)
    set_spares(state, state.spares[: event.rules.policy.spares])
    if event.by == CONFIGURATION:
        state.configured = event.rules
    if not event.rules.policy.takes_turns:
        state.starvation = None
    elif state.starvation is None:
        state.starvation = _starvation_watch_with(state, event.at_ms)
    if state.starvation is not None:
        for job in state.jobs.values():
            state.starvation.watch(job, event.at_ms)
    return Outcome()


def _change_cluster(state: State, cluster: ClusterSpec, at_ms: int) -> Outcome:
    state.nodes = {node.name: node for node in cluster.nodes}
    state.draining = draining_among(cluster.nodes)
    state.node_faults = {name: count for name, count in state.node_faults.items() if name in state.nodes}
    state.node_notes = {name: note for name, note in state.node_notes.items() if name in state.nodes}
    state.node_health = {name: known for name, known in state.node_health.items() if name in state.nodes}
    state.quarantine.keep(state.nodes)
    state.spares = tuple(name for name in state.spares if name in state.nodes)
    state.snapshot.change_cluster(evolve(cluster, nodes=tuple(map(state.planned, cluster.nodes))))
    if state.starvation is not None:
        state.starvation.resize(state.snapshot.setting.gpu_milli, at_ms)
    return Outcome()


def _starvation_watch_with(state: State, at_ms: int) -> StarvationWatch:
    """A watch with all jobs that have not ended, as if it had been kept from the beginning.

    What each job is due is counted from now on.
    """
    state.snapshot.entitle_anew(at_ms)
    starvation = new_starvation_watch(state.snapshot)
    for job in state.jobs.values():
        if not job.state.is_final:
            for due in starvation.follow(None, job, at_ms):
                starvation.note(state.jobs[due], at_ms)
    return starvation
