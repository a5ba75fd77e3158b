"""From an event to the state. The same log always folds to the same state.

Events change a `State` only here. Besides, `forgetting` drops jobs that have ended, and the engine notes which jobs are
stuck and when the starvation watch checks a job again.
"""

from typing import assert_never

from muster.core.lifecycle import created
from muster.core.lifecycle.arrays import ArrayTally
from muster.core.lifecycle.updating import updated_spec
from muster.engine.folding.node_folding import (
    adopt,
    doom,
    fold_node_event,
    release,
    set_aside_as_configured,
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
    ReservationEvent,
    ReservationRemoved,
    ReservationSet,
    RulesChanged,
    RuntimeFound,
    SparesSet,
    StartFailed,
    TimerFired,
    WorkersExited,
    WorkersStarted,
)
from muster.model.instructions import Instruction, WakeAt
from muster.model.job import Job
from muster.model.machines.reservation import RESERVATIONS
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
        case NodeChanged() | NodeUnreachable() | NodeReturned() | NodeLost() | GangsFound() | RuntimeFound():
            return fold_node_event(state, event)
        case SparesSet(nodes=nodes):
            return set_spares(state, nodes)
        case GangAdopted():
            return adopt(state, event)
        case GangKillOrdered():
            return doom(state, event)
        case RulesChanged() | ClusterChanged() | ReservationSet() | ReservationRemoved():
            return _reconfigure(state, event)
        case _:
            if isinstance(event, JobUpdated) and event.job in state.array_specs:
                state.array_specs[event.job] = updated_spec(state.array_specs[event.job], event.changes)
            outcome = move_all(state, event, state.addressed(event.job))
            return release(state, event, outcome) if isinstance(event, StartFailed) else outcome


def _submit(state: State, event: JobSubmitted) -> Outcome:
    if event.job in state.jobs or event.job in state.arrays:
        return NOTHING
    state.submissions += 1
    if event.key:
        state.keys[event.by, event.key] = (event.job, event.fingerprint)
        state.key_of[event.job] = (event.by, event.key)
    state.note_waits(event.job, event.spec)
    moves = tuple([Move(None, job, _first_wake(job)) for job in created(event, state.submissions)])
    tally = None if event.spec.array is None else ArrayTally(event.job, event.spec.array)
    for move in moves:
        place(state, move, event.at_ms, tally)
    if tally is not None:
        state.array_specs[event.job] = event.spec
        state.arrays[event.job] = tally
    return Outcome(moves)


def _first_wake(job: Job) -> tuple[Instruction, ...]:
    """A job that is not to begin yet asks to be woken when it is."""
    return () if job.not_before_ms is None else (WakeAt(job=job.id, at_ms=job.not_before_ms),)


def _reconfigure(state: State, event: RulesChanged | ClusterChanged | ReservationEvent) -> Outcome:
    match event:
        case RulesChanged():
            return _change_rules(state, event)
        case ClusterChanged():
            return _change_cluster(state, event)
        case ReservationSet() | ReservationRemoved():
            return _reserve(state, event)
        case _:
            assert_never(event)


def _reserve(state: State, event: ReservationEvent) -> Outcome:
    """Put a reservation in force, in place of one with its name, or take it out of force."""
    before = state.snapshot.setting.reservations
    name = event.reservation.name if isinstance(event, ReservationSet) else event.name
    others = tuple(each for each in before if each.name != name)
    kept = (*others, event.reservation) if isinstance(event, ReservationSet) else others
    after = tuple(sorted(kept, key=lambda each: each.name))
    if after == before or len(after) > RESERVATIONS:
        return NOTHING
    state.snapshot.reserve(after)
    return Outcome()


def _change_rules(state: State, event: RulesChanged) -> Outcome:
    state.snapshot.change_rules(event.rules, event.at_ms)
    state.admission, state.profiles = event.rules.admission, event.rules.profiles
    set_spares(state, state.spares[: event.rules.policy.spares])
    if event.configured is not None or event.by == CONFIGURATION:
        state.configured = event.configured or event.rules
    if not event.rules.policy.takes_turns:
        state.starvation = None
    elif state.starvation is None:
        state.starvation = _starvation_watch_with(state, event.at_ms)
    if state.starvation is not None:
        for job in state.jobs.values():
            state.starvation.watch(job, event.at_ms)
    return Outcome()


def _change_cluster(state: State, event: ClusterChanged) -> Outcome:
    cluster = event.cluster
    if event.configured is not None:
        state.configured_cluster = event.configured
        set_aside_as_configured(state, cluster.nodes)
    state.nodes = {node.name: node for node in cluster.nodes}
    state.draining = draining_among(cluster.nodes)
    state.node_notes = {name: note for name, note in state.node_notes.items() if name in state.nodes}
    state.node_health = {name: known for name, known in state.node_health.items() if name in state.nodes}
    state.quarantine.keep(state.nodes)
    state.spares = tuple(name for name in state.spares if name in state.nodes)
    state.snapshot.change_cluster(evolve(cluster, nodes=tuple(map(state.planned, cluster.nodes))))
    if state.starvation is not None:
        state.starvation.resize(state.snapshot.setting.gpu_milli, event.at_ms)
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
