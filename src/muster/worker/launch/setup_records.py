"""What is remembered about `setup` on a node, so that it runs once there and not once for each worker.

Workers of an attempt take a lock in turn. The first runs `setup`, in its own process tree and with its own output; the
others find how it ended. If that worker is killed, the kernel gives the lock to the next one, which runs `setup` then.

    lock              held by the worker that runs `setup` or looks at its outcome
    attempt-N-CODE    how it ended in attempt N
    unpacked          older than everything that was changed in the working copy since it was made
    done-KEY          it ended well with this key, and need not be run in another attempt

The key stands for what may change between attempts of one run: the text of `setup`, the working directory, and the
files that the text names. A file counts as the same while its size and the time of its last change are the same. A
restart of the machine also counts as a change. Of a job with a bundle, the bundle stands for all files; what `setup`
leaves in the working copy is gone with the attempt, so a `setup` that changes the copy is not remembered.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from muster.model.instructions import StartWorkers
from muster.model.limits import START_TIMEOUT_MS
from muster.worker.launch.runtime_folder import claim, remove
from muster.worker.processes.process_table import boot_id

WAIT_S = START_TIMEOUT_MS // 1000
"""How long a worker waits for the `setup` of another one: as long as a gang may take to start."""

STAMP = "unpacked"

RECORDS_MOST = 256
"""Runs whose setup is remembered on one node. The oldest are forgotten, and at worst `setup` is run again."""


def setup_folder(workers: Path) -> Path:
    """The folder with the records of a node: beside the folder of its workers, which is emptied at times."""
    return workers.with_name(f".setup-{workers.name}")


def record_folder(workers: Path, start: StartWorkers) -> Path:
    """The folder for the records of a run, which is made if it is not there."""
    from hashlib import sha256  # noqa: PLC0415 (loads a large library, for jobs with a setup only)

    root = setup_folder(workers)
    claim(root)
    folder = root / sha256(f"{start.job}\0{start.run}".encode()).hexdigest()[:32]
    if not folder.is_dir():
        _forget_oldest(root)
    claim(folder)
    return folder


def setup_key(start: StartWorkers, workdir: str) -> str:
    """Stands for everything that decides whether `setup` has to be run again."""
    from hashlib import sha256  # noqa: PLC0415 (loads a large library, for jobs with a setup only)

    bundle = start.spec.bundle
    place = [workdir, *_named_files(start.spec.setup.split(), workdir)] if bundle is None else ["", bundle.id]
    facts = [boot_id(), start.spec.setup, *place]
    return sha256("\0".join(facts).encode(errors="surrogateescape")).hexdigest()[:32]


def _named_files(words: Iterable[str], workdir: str) -> list[str]:
    """Size and time of the last change of every file that these words name."""
    facts = []
    for word in words:
        path = os.path.join(workdir, os.path.expanduser(word.strip("'\"")))
        if "\0" not in path and os.path.isfile(path):
            found = os.stat(path)
            facts.append(f"{word} {found.st_size} {found.st_mtime_ns}")
    return facts


def _forget_oldest(root: Path) -> None:
    kept = sorted(root.iterdir(), key=lambda each: each.stat().st_mtime_ns)
    for folder in kept[: max(len(kept) - RECORDS_MOST + 1, 0)]:
        remove(folder)
