"""The engine's state, kept so that a restart folds only what came after.

It is kept as Python pickles it, which only the code that wrote it can read: a fingerprint of that code goes with it,
and a state with another fingerprint is ignored. The log alone is the truth; a saved state is never needed, only fast.
Whoever can write to the store can make Muster run any command anyway, so reading a pickle from it gives nothing away.
"""

import hashlib
import pickle
from functools import cache
from pathlib import Path

from muster.engine.state import State
from muster.model.compiling import is_compiled
from muster.store.base import StateStore

_CODE = ("model", "core", "engine")
"""The packages whose classes a state is made of, and whose rules folded it."""


@cache
def layout() -> str:
    """The fingerprint of the code that states are made by."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(b"compiled" if is_compiled() else b"plain")
    for name in _CODE:
        for source in sorted((package / name).rglob("*.py")):
            digest.update(str(source.relative_to(package)).encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()


def save(store: StateStore, state: State) -> None:
    """Keep the state as it is now."""
    store.save_state(state.version, layout(), pickle.dumps(state, protocol=5))


def load(store: StateStore) -> State | None:
    """The newest state that this code can go on from; None when there is none."""
    found = store.load_state(layout())
    if found is None:
        return None
    state = pickle.loads(found.body)
    return state if isinstance(state, State) and state.version == found.version else None
