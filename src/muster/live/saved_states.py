"""The engine's state, kept so that a restart folds only what came after.

It is kept as plain values and never as code or objects: whoever can write to the store can change what Muster knows,
and cannot have it run anything by being read. The log alone is the truth; a saved state is never needed, only fast. One
that is of another layout, cannot be decoded or contradicts itself is passed over.
"""

import logging

from muster.engine.folding.restoring import recorded, restored
from muster.engine.folding.state import State
from muster.model.errors import MusterError
from muster.store.base import StateStore
from muster.store.codec import decode_state, encode_state

RULES = 3
"""Count up whenever the same log folds to another state than before, or a field of a state is new, gone or means
something else: what was saved by other rules is then folded anew. A test knows the fields."""

_log = logging.getLogger("muster.live")


LAYOUT = f"rules-{RULES}"
"""What a state must have been saved by to be loaded."""


def save(store: StateStore, state: State) -> None:
    """Keep the state as it is now."""
    store.save_state(state.version, LAYOUT, encode_state(recorded(state)))


def load(store: StateStore) -> State | None:
    """The newest state that can be gone on from; None when there is none."""
    found = store.load_state(LAYOUT)
    if found is None:
        return None
    try:
        state = restored(decode_state(found.body))
    except (MusterError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        _log.warning("the saved state is of no use; the log is folded instead", extra={"cause": repr(error)})
        return None
    return state if state.version == found.version else None
