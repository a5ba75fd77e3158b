"""The engine's state, kept so that a restart folds only what came after.

It is kept as plain values and never as code or objects: whoever can write to the store can change what Muster knows,
and cannot have it run anything by being read. The log alone is the truth; a saved state is never needed, only fast. One
that is of another layout, cannot be decoded or contradicts itself is passed over.
"""

import logging

from muster import __version__
from muster.engine.restoring import recorded, restored
from muster.engine.state import State
from muster.model.errors import MusterError
from muster.store.base import StateStore
from muster.store.codec import decode_state, encode_state, shape_of_states

RULES = 1
"""Count up whenever the same log folds to another state than before, or a field of a state means something else: what
was saved by other rules is then folded anew."""

_log = logging.getLogger("muster.live")


def layout() -> str:
    """What a state must have been saved by to be loaded: the release, its rules, and the shape of its records."""
    return f"{__version__}/{RULES}/{shape_of_states()}"


def save(store: StateStore, state: State) -> None:
    """Keep the state as it is now."""
    store.save_state(state.version, layout(), encode_state(recorded(state)))


def load(store: StateStore) -> State | None:
    """The newest state that can be gone on from; None when there is none."""
    found = store.load_state(layout())
    if found is None:
        return None
    try:
        state = restored(decode_state(found.body))
    except (MusterError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        _log.warning("the saved state is of no use; the log is folded instead", extra={"cause": repr(error)})
        return None
    return state if state.version == found.version else None
