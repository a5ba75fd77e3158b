"""When jobs that have ended leave the state is of no matter to those that are alive."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.core.planning import plan
from muster.engine.folding.folding import fold
from muster.engine.folding.forgetting import ended_jobs, forget
from muster.engine.folding.restoring import recorded
from muster.engine.folding.state import State
from muster.model.records import evolve
from tests.property.test_saved_states import SEEDS, history


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, SEEDS - 1), chance=st.randoms(use_true_random=False))
def test_a_state_that_forgets_folds_and_plans_as_one_that_does_not(seed: int, chance: random.Random) -> None:
    played, events = history(seed)
    whole, forgetful = State(played.scenario), State(played.scenario)
    forgotten = 0
    for event in events:
        assert fold(forgetful, event).is_change == fold(whole, event).is_change
        if chance.random() < 0.1:
            before = len(forgetful.jobs)
            forget(forgetful, ended_jobs(forgetful))
            forgotten += before - len(forgetful.jobs)
    left = forget(forgetful, ended_jobs(forgetful))
    living = {job: record for job, record in whole.jobs.items() if job in forgetful.jobs}
    assert forgetful.jobs == living
    over = {job for job, record in living.items() if record.state.is_final}
    assert over <= {*left, *(task for array in forgetful.arrays.values() for task in array.tasks)}
    one, other = recorded(whole), recorded(forgetful)
    assert (one.snapshot, one.starvation, one.quarantine) == (other.snapshot, other.starvation, other.quarantine)
    plans = [plan(state.snapshot, state.now_ms) for state in (whole, forgetful)]
    assert evolve(plans[0], version=0) == evolve(plans[1], version=0)
    assert len(whole.jobs) - len(forgetful.jobs) >= forgotten
