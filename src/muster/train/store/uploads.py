"""One checkpoint sent to durable storage: files, then parts, then the manifest."""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from muster.train.errors import CheckpointError, DamagedCheckpoint, ForeignCheckpoint, in_words
from muster.train.failpoints import failpoint
from muster.train.store.parts import MANIFEST, RankPart, encode_part, part_name
from muster.train.store.places import manifest_in, parts_in
from muster.train.store.stores import CheckpointStore, FolderStore

PAUSES_S = (0.2, 1.0, 3.0)
"""Pauses between tries of one operation on storage. What fails longer is tried again with the whole step."""

T = TypeVar("T")


def upload(own: FolderStore, durable: CheckpointStore, step: int, runs: tuple[str, ...]) -> None:
    """Send the parts that are committed here and not there yet."""
    for part in list(parts_in(own, step, own.sizes(step))):
        send_part(own, durable, part, runs)


def send_part(own: FolderStore, target: CheckpointStore, part: RankPart, runs: tuple[str, ...]) -> None:
    """Send one part: its files, then the list of them. A part that is there is not sent again."""
    name = part_name(part.rank, part.world)
    sizes = tried(lambda: target.sizes(part.step))
    if name in sizes and part in parts_in(target, part.step, [name]):
        return
    if sizes:
        _make_room(target, part, name, runs)
    for file in part.files:
        failpoint("upload.before-file")
        tried(partial(target.put, part.step, file, own.file(part.step, file.name)))
    failpoint("upload.before-part")
    tried(lambda: target.write(part.step, name, encode_part(part)))
    failpoint("upload.after-part")


def _make_room(target: CheckpointStore, part: RankPart, name: str, runs: tuple[str, ...]) -> None:
    """Something of this step is there already: of this save, of an earlier attempt, or of another run."""
    parts: list[RankPart] = []
    whole = manifest_in(target, part.step, parts)
    for run in [*([whole.run] if whole else []), *(each.run for each in parts)]:
        if runs and run not in runs:
            raise ForeignCheckpoint(
                f"{target.path(part.step)} is a checkpoint of the run {run}: give another path,"
                f" or put MUSTER_RESUME_RUN={run} into `env`"
            )
    if whole is not None and whole.attempt > part.attempt:
        raise DamagedCheckpoint(f"{target.path(part.step)} was saved again by a later attempt")
    if whole is None or part not in whole.parts:
        tried(lambda: target.remove(part.step, [MANIFEST, name]))


def tried(operation: Callable[[], T]) -> T:
    """Carry out an operation on storage, again if it fails. A missing file or a damaged one stays what it is."""
    for pause_s in PAUSES_S:
        try:
            return operation()
        except (FileNotFoundError, NotADirectoryError, PermissionError, CheckpointError):
            raise
        except Exception:  # noqa: BLE001 (each file system has errors of its own)
            time.sleep(pause_s)
    return operation()


def problem_in_words(error: BaseException, store: CheckpointStore) -> str:
    """Why an upload failed, for the user."""
    return f"{store.root}: {in_words(error)}"
