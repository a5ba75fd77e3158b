"""A step that is saved again: it is written beside the one that is there, and takes its place when it is whole.

So a crash or a full disk in the middle leaves the checkpoint that was there. Ranks write to `ROOT/.again/step-…`, and
the two folders are exchanged in one piece. A file system that cannot do that, such as some over a network, has the old
one moved away first; if the process dies between these two moves, `finish_replacing` makes the second one later.
"""

import contextlib
import ctypes
import os

from muster.train.failpoints import failpoint
from muster.train.store.parts import MANIFEST, part_of
from muster.train.store.stores import FolderStore, sync_folder

AGAIN = ".again"
"""The folder for steps that are saved again. No step has this name."""

_EXCHANGE = 2
_HERE = -100


def beside(store: FolderStore) -> FolderStore:
    """Where a step is written that is there already."""
    return FolderStore(os.path.join(store.root, AGAIN), store.kind)


def is_saved(store: FolderStore, step: int) -> bool:
    """True when a rank has saved something of this step here. A place that cannot be read has nothing to keep."""
    try:
        return any(name == MANIFEST or part_of(name) is not None for name in store.sizes(step))
    except OSError:
        return False


def replace(store: FolderStore, step: int) -> None:
    """Let what was written beside a step take its place."""
    new, place = beside(store).path(step), store.path(step)
    failpoint("replace.before")
    if not _exchanged(new, place):
        old = f"{new}.old"
        os.replace(place, old)
        failpoint("replace.between-moves")
        os.replace(new, place)
        os.replace(old, new)
    sync_folder(store.root)
    failpoint("replace.after")
    beside(store).remove_step(step)
    with contextlib.suppress(OSError):
        os.rmdir(beside(store).root)


def finish_replacing(store: FolderStore) -> None:
    """Make the second move where a process died between two."""
    again = beside(store)
    with contextlib.suppress(OSError):
        for step in again.steps():
            if os.path.isdir(f"{again.path(step)}.old") and not os.path.exists(store.path(step)):
                os.replace(again.path(step), store.path(step))


def _exchanged(one: str, other: str) -> bool:
    """Exchange two folders in one piece; False where the system cannot."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
