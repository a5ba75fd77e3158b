"""A state that is saved and loaded goes on exactly as the one that was not: it folds, plans and is saved alike."""

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.core.planning import plan
from muster.engine.folding.folding import fold
from muster.engine.folding.restoring import recorded, restored
from muster.engine.folding.state import State
from muster.model.events import Event
from muster.model.records import evolve
from muster.model.saved_state import StateRecord
from muster.sim.campaign.fault_actions import FaultActions
from muster.sim.campaign.schedule import Schedule, schedule
from muster.sim.campaign.trial import Trial
from muster.store.codec import decode_state, encode_state

SEEDS = 40


@cache
def history(seed: int) -> tuple[Schedule, tuple[Event, ...]]:
    """What a schedule of the fault campaign leaves in the log: users, faults, restarts and all."""
    trial = Trial(schedule(seed))
    actions = FaultActions(trial)
    for happening in trial.schedule.happenings:
        trial.pass_time(max(happening.at_ms, trial.now_ms))
        actions.happen(happening)
    return trial.schedule, tuple(trial.log.read())


def reloaded(state: State) -> State:
    """The same state from the bytes that a store keeps."""
    return restored(decode_state(encode_state(recorded(state))))


def check_alike(one: State, other: State) -> None:
    assert recorded(one) == recorded(other)
    assert one.dependents == other.dependents
    assert [(name, list(each.items())) for name, each in one.dependents.items() if len(each) > 1] == [
        (name, list(other.dependents[name].items())) for name, each in one.dependents.items() if len(each) > 1
    ]
    assert (one.draining, one.key_of) == (other.draining, other.key_of)
    assert one.occupying == other.occupying
    for array, tally in one.arrays.items():
        again = other.arrays[array]
        assert (one.array_record(array), tally.turns()) == (other.array_record(array), again.turns())
    plans = [plan(state.snapshot, state.now_ms) for state in (one, other)]
    assert evolve(plans[0], version=0) == evolve(plans[1], version=0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, SEEDS - 1), part=st.integers(0, 1_000))
def test_a_state_that_was_saved_and_loaded_goes_on_as_if_it_had_not_been(seed: int, part: int) -> None:
    played, events = history(seed)
    state = State(played.scenario)
    cut = len(events) * part // 1_000
    for event in events[:cut]:
        fold(state, event)
    loaded = reloaded(state)
    check_alike(state, loaded)
    for event in events[cut:]:
        assert fold(loaded, event).is_change == fold(state, event).is_change
    check_alike(state, loaded)


def test_every_part_of_a_record_is_needed() -> None:
    """No part of a record is empty throughout: what is never filled would be never tested."""
    met: set[str] = set()
    for seed in range(SEEDS):
        played, events = history(seed)
        state = State(played.scenario)
        for event in events:
            fold(state, event)
        met |= filled(recorded(state))
    wanted = {"starvation", "usage", "preemptions_ms", "run_times", "entitlements", "line", "due"}
    assert wanted | {"jobs", "array_specs", "nodes", "node_notes", "lost"} <= met


def filled(record: StateRecord) -> set[str]:
    """The names of the parts that say something."""
    parts = (record, record.facts, record.snapshot, *((record.starvation,) if record.starvation is not None else ()))
    return {name for part in parts for name in part.__struct_fields__ if getattr(part, name)}
