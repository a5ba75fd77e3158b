"""Which checkpoints are kept: the newest complete ones, and never fewer than one.

What is incomplete and older than a complete one is left of a broken save. Nothing newer than the newest complete one
is touched: it may still be written. Neither is anything above the step that training has just saved: a training that
began anew below keeps what it saves beside what was there.
"""

from collections.abc import Container, Iterable

from muster.train.errors import DamagedCheckpoint
from muster.train.failpoints import failpoint
from muster.train.store.parts import (
    MANIFEST,
    MANIFEST_BYTES_MOST,
    Manifest,
    assembled,
    decode_manifest,
    encode_manifest,
)
from muster.train.store.places import parts_in
from muster.train.store.stores import CheckpointStore

HOT_STEPS_MOST = 8
"""Steps beyond `keep` that a hot tier holds while they cannot be uploaded. After that the oldest go, because a full
disk would stop all further saves."""


def complete_steps(store: CheckpointStore, run: str | None = None) -> list[int]:
    """Steps with a readable manifest, newest first; those of one run if it is given."""
    return [step for step in store.steps() if (found := manifest_of(store, step)) and run in (None, found.run)]


def manifest_of(store: CheckpointStore, step: int) -> Manifest | None:
    """The manifest of a step in a store; None when there is none, or it is damaged."""
    try:
        return decode_manifest(store.read(step, MANIFEST, MANIFEST_BYTES_MOST), step)
    except (FileNotFoundError, DamagedCheckpoint):
        return None


def surplus(steps: Iterable[int], complete: Iterable[int], keep: int, at: int | None = None) -> list[int]:
    """Steps to remove, oldest first, given all steps of a store and those that are complete.

    `at` is the step that training has saved last. Those above it are of a course of training that was given up: they
    are left alone, and push nothing out.
    """
    kept = sorted((step for step in complete if at is None or step <= at), reverse=True)[: max(1, keep)]
    return sorted(step for step in steps if kept and step < kept[0] and step not in kept)


def hot_surplus(
    steps: Iterable[int], complete: Iterable[int], saved: Iterable[int], keep: int, at: int | None = None
) -> list[int]:
    """Steps to remove from a hot tier, oldest first. Without uploads nobody knows which are complete: some are kept.

    A node does not learn of all that are: only the newest is uploaded when saves are quicker. So where fewer than
    `keep` are known, the newest of which it has `saved` its part stay, for the case that the newest is damaged.
    """
    steps, complete = sorted(steps), sorted(step for step in complete if at is None or step <= at)
    room = max(0, keep - len(complete))
    likely = sorted(step for step in {*saved} - {*complete} if complete and step < complete[-1])[-room:] if room else []
    crowd = steps[: -max(1, keep) - HOT_STEPS_MOST]
    newest = {*(complete[-1:] or steps[-1:]), at}
    gone = [step for step in surplus(steps, complete, keep) if step not in likely]
    return sorted({*gone, *(step for step in crowd if step not in newest)})


def remove_steps(store: CheckpointStore, steps: Iterable[int]) -> None:
    """Remove steps. The manifest goes first, so that what is half removed is not taken for a checkpoint."""
    for step in steps:
        store.remove(step, [MANIFEST])
        failpoint("retention.after-manifest")
        store.remove_step(step)


def keep_newest(
    store: CheckpointStore, keep: int, run: str, at: int | None = None, damaged: Container[int] = ()
) -> list[int]:
    """Remove what is not kept of one run from a durable store, after a save `at` a step; the steps that were removed.

    A checkpoint that is known to be damaged counts as an incomplete one.
    """
    owned = [step for step in store.steps() if _is_of(store, step, run)]
    whole = [step for step in complete_steps(store, run) if step not in damaged]
    gone = surplus(owned, whole, keep, at)
    remove_steps(store, gone)
    return gone


def _is_of(store: CheckpointStore, step: int, run: str) -> bool:
    """True unless the step belongs to another run."""
    manifest = manifest_of(store, step)
    runs = {manifest.run} if manifest else {part.run for part in parts_in(store, step, store.sizes(step))}
    return runs <= {run}


def complete(store: CheckpointStore, step: int) -> Manifest | None:
    """Write the manifest of a step, if the parts of all ranks are here with all their files; the manifest."""
    sizes = store.sizes(step)
    if MANIFEST in sizes and (found := manifest_of(store, step)) is not None:
        return found
    manifest = assembled(step, parts_in(store, step, sizes))
    if manifest is None or any(sizes.get(file.name) != file.bytes for file in manifest.files.values()):
        return None
    failpoint("manifest.before")
    store.write(step, MANIFEST, encode_manifest(manifest))
    failpoint("manifest.after")
    return manifest
