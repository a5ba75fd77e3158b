"""The state as plain values, and back.

A restored state folds and plans exactly as the state that it was recorded from. If you add a field to the state that
does not follow from its other fields, add a field of the same name to `FactsRecord`; nothing changes here.
"""

from muster.core.lifecycle.arrays import ArrayTally
from muster.core.order.entitlements import Entitlements
from muster.core.order.recent_preemptions import RecentPreemptions
from muster.core.order.run_times import RunTimes
from muster.core.snapshot import Snapshot
from muster.engine.folding.state import State, draining_among
from muster.engine.starvation_watch import StarvationWatch
from muster.model.ids import JobId
from muster.model.records import defaults, evolve
from muster.model.saved_state import FactsRecord, SnapshotRecord, StateRecord
from muster.model.scenario import Scenario


def recorded(state: State) -> StateRecord:
    """The state as values: everything that is needed to continue from it."""
    fields: dict[str, object] = {name: _plain(getattr(state, name)) for name, _ in defaults(FactsRecord)}
    return StateRecord(
        facts=FactsRecord(**fields),  # type: ignore[arg-type]
        snapshot=_situation(state.snapshot, state.now_ms),
        starvation=None if state.starvation is None else state.starvation.record(),
        quarantine=tuple(state.quarantine.gangs.items()),
        doomed=tuple(state.quarantine.doomed),
    )


def restored(record: StateRecord) -> State:
    """The state that was recorded. Raises `KeyError` or `ValueError` when its parts contradict each other."""
    state = State(Scenario(now_ms=record.facts.now_ms, cluster=record.snapshot.scenario.cluster))
    for name, _ in defaults(FactsRecord):
        value = getattr(record.facts, name)
        setattr(state, name, dict(value) if isinstance(getattr(state, name), dict) else value)
    state.snapshot = _snapshot(record.snapshot)
    kept, jobs = record.starvation, state.jobs.values()
    state.starvation = None if kept is None else StarvationWatch.of(kept, state.snapshot.entitlements, jobs)
    state.quarantine.gangs = dict(record.quarantine)
    state.quarantine.doomed = dict.fromkeys(record.doomed)
    _derive(state)
    return state


def _situation(snapshot: Snapshot, now_ms: int) -> SnapshotRecord:
    """The snapshot as values. A scenario would round usage and only count preemptions, so both are kept apart."""
    return SnapshotRecord(
        scenario=evolve(snapshot.scenario(now_ms), usage=(), recent_preemptions=()),
        usage=snapshot.ledger.record(),
        preemptions_ms=snapshot.recent_preemptions.record(),
        run_times=snapshot.run_times.record(),
        entitlements=snapshot.entitlements.record(),
    )


def _snapshot(record: SnapshotRecord) -> Snapshot:
    snapshot = Snapshot.of(record.scenario)
    snapshot.ledger.restore(record.usage)
    snapshot.recent_preemptions = RecentPreemptions.of(record.preemptions_ms)
    snapshot.run_times = RunTimes.of(record.run_times)
    snapshot.entitlements = Entitlements.of(record.entitlements)
    return snapshot


def _plain(value: object) -> object:
    return tuple(value.items()) if isinstance(value, dict) else value


def _derive(state: State) -> None:
    """Compute the fields that follow from the recorded ones."""
    state.draining = draining_among(state.nodes.values())
    state.occupying = {job.id: None for job in state.jobs.values() if job.state.holds_resources}
    state.key_of = {job: key for key, (job, _) in state.keys.items()}
    state.arrays = {array: _tally(state, array) for array in state.array_specs}
    state.dependents = {}
    submissions = dict.fromkeys(job.array_parent or job.id for job in state.jobs.values())
    for submitted in submissions:  # in the order of submission, in which they are released too
        spec = state.array_specs.get(submitted) or state.jobs[submitted].spec
        state.note_waits(submitted, spec)


def _tally(state: State, array: JobId) -> ArrayTally:
    spec = state.array_specs[array].array
    if spec is None:
        raise ValueError(f"{array} is no array")
    tally = ArrayTally(array, spec)
    for task in tally.tasks:
        tally.move(None, state.jobs[task])
    return tally
