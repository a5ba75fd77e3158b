"""What the log folds to, against the state that the engine has."""

from collections.abc import Iterable, Iterator

from muster.engine.folding.folding import fold
from muster.engine.folding.restoring import recorded
from muster.engine.folding.state import State
from muster.model.events import Event
from muster.model.saved_state import StateRecord
from muster.model.scenario import Scenario


def refold_problems(state: State, scenario: Scenario, events: Iterable[Event]) -> Iterator[str]:
    """What of the present state does not follow from the log."""
    fresh = State(scenario)
    for event in events:
        if not fold(fresh, event).is_change:
            yield f"the log holds an event that says nothing: {event}"
    fresh.now_ms = state.now_ms  # reports without news have moved it, and are in no log
    mine, theirs = recorded(state), recorded(fresh)
    for what, is_same in (
        ("facts", mine.facts == theirs.facts),
        ("situation", mine.snapshot == theirs.snapshot),
        ("jobs in line", _line(mine) == _line(theirs)),
        ("draining nodes", state.draining == fresh.draining),
        ("dependents", state.dependents == fresh.dependents),
    ):
        if not is_same:
            yield f"the {what} folded from the log are not those that are there"


def _line(state: StateRecord) -> object:
    """What the starvation watch has from the log. When it looks at jobs next is not in the log."""
    return None if state.starvation is None else (state.starvation.line, state.starvation.due)
