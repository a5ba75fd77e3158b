"""The engine's state, kept so that a restart folds only what came after.

It is kept as Python pickles it, which only the code that wrote it can read: a fingerprint of that code goes with it,
and a state with another fingerprint is ignored. The log alone is the truth; a saved state is never needed, only fast.
Whoever can write to the store can make Muster run any command anyway, so reading a pickle from it gives nothing away.
"""

import hashlib
import pickle
from functools import cache
from pathlib import Path
from typing import Protocol

from muster.engine.state import State

_CODE = ("model", "core", "engine")
"""The packages whose classes a state is made of, and whose rules folded it."""


class StateStore(Protocol):
    """Where states are kept, each with the version of the log that it is the state at."""

    def save_state(self, version: int, layout: str, body: bytes) -> None:
        """Keep a state."""
        ...

    def load_state(self, layout: str) -> tuple[int, bytes] | None:
        """The newest state with this layout that is unharmed, and its version."""
        ...


@cache
def layout() -> str:
    """The fingerprint of the code that states are made by."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
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
    state = pickle.loads(found[1])
    return state if isinstance(state, State) and state.version == found[0] else None
