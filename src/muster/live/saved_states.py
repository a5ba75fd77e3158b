"""The engine's state, saved so that a restart folds only what came after.

It is saved as plain values and never as code or objects. So an attacker who can write to the store can change what
Muster knows, but cannot make it run code when it reads a state. The log alone is the truth; a saved state only makes a
start faster. A state that has another layout, cannot be decoded or contradicts itself is ignored.
"""

import logging
from dataclasses import dataclass

from muster.engine.folding.restoring import recorded, restored
from muster.engine.folding.state import State
from muster.model.errors import MusterError
from muster.model.records import evolve
from muster.model.saved_state import HistoryRecord
from muster.store.base import StateStore
from muster.store.codec import decode_state, encode_state

RULES = 6
"""Increase this whenever the same log folds to another state than before, or a field of a state is removed or changes
its meaning. A field that is added with a default needs nothing. States of other rules are then ignored. A test has a
state of these rules."""

_log = logging.getLogger("muster.live")


LAYOUT = f"rules-{RULES}"
"""The layout that a saved state must have to be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A state, and the history up to it if one was saved."""

    state: State
    history: HistoryRecord | None


def save(store: StateStore, state: State, history: HistoryRecord | None = None) -> None:
    """Save the present state and the history up to it."""
    store.save_state(state.version, LAYOUT, encode_state(evolve(recorded(state), history=history)))


def load(store: StateStore) -> Loaded | None:
    """The newest saved state, if it can be used; None otherwise."""
    found = store.load_state(LAYOUT)
    if found is None:
        return None
    try:
        record = decode_state(found.body)
        state = restored(record)
    except (MusterError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        _log.warning("the saved state is of no use; the log is folded instead", extra={"cause": repr(error)})
        return None
    return Loaded(state=state, history=record.history) if state.version == found.version else None
