"""Where the checkpoints of a run are: the hot tiers of nodes, and durable storage.

The hot tier of the own node is asked first, then those of the other nodes, then durable storage. What comes from
durable storage is kept in the own hot tier, so that the next rank of this node and the next attempt find it there.
"""

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from muster.train.errors import DamagedCheckpoint, ForeignCheckpoint, in_words
from muster.train.notice_pipe import say
from muster.train.store.parts import (
    MANIFEST,
    MANIFEST_BYTES_MOST,
    PART_BYTES_MOST,
    FileEntry,
    Manifest,
    RankPart,
    assembled,
    decode_manifest,
    decode_part,
    part_of,
)
from muster.train.store.stores import UNFINISHED, CheckpointStore, FolderStore, ObjectStore, sha256_of, store_at
from muster.train.surroundings import Surroundings


@dataclass(frozen=True, kw_only=True)
class Places:
    """The stores of a run."""

    own: FolderStore
    """Where this process writes: the hot tier of its node, or the path itself."""
    durable: CheckpointStore | None
    """Where uploads go; None when `own` is the durable path already."""
    hot: str | None = None
    """The folder with the hot tiers of all nodes that this one can read."""
    runs: tuple[str, ...]
    """Runs whose checkpoints may be restored; empty when all may."""
    is_uploaded_here: bool = False
    """True when this process sends its files to durable storage itself, because no uploader runs beside it."""

    def hot_stores(self) -> list[FolderStore]:
        """The own hot tier, then the others."""
        others = [FolderStore(path) for path in sorted(self._hot_folders()) if path != self.own.root]
        return [self.own, *others]

    def _hot_folders(self) -> Iterator[str]:
        with contextlib.suppress(OSError):
            for node in os.listdir(self.hot) if self.hot is not None else ():
                for run in self.runs:
                    folder = os.path.join(self.hot or "", node, run)
                    if os.path.isdir(folder):
                        yield folder

    def stores(self) -> list[CheckpointStore]:
        """All places in the order in which they are asked."""
        return [*self.hot_stores(), *([self.durable] if self.durable is not None else [])]

    @property
    def lasting(self) -> CheckpointStore:
        """The store that outlives nodes: durable storage, if there is any."""
        return self.durable if self.durable is not None else self.own

    def manifest(self, step: int, hear: Callable[[str], None] = say) -> Manifest | None:
        """The checkpoint at a step, from the lists that the places have; None when it is not complete."""
        known: list[Manifest] = []
        parts: list[RankPart] = []
        for store in self.stores():
            whole = manifest_in(store, step, parts, hear)
            if whole is not None:
                known.append(whole)
        together = assembled(step, (part for part in parts if self.accepts(part.run)))
        known = [manifest for manifest in [*known, *([together] if together else [])] if self.accepts(manifest.run)]
        return max(known, key=lambda manifest: manifest.attempt, default=None)

    def accepts(self, run: str) -> bool:
        """True when checkpoints of this run may be restored."""
        return not self.runs or run in self.runs

    def check_owner(self, store: CheckpointStore) -> None:
        """Refuse a store with checkpoints of runs that this one may not use."""
        strangers = [run for step in store.steps() for run in _runs_at(store, step) if not self.accepts(run)]
        if strangers:
            raise ForeignCheckpoint(
                f"{store.root} holds checkpoints of the run {strangers[0]}, and this is {self.runs[0]}:"
                f" give another path, or put MUSTER_RESUME_RUN={strangers[0]} into `env` to go on from them"
            )

    def find(self, step: int, entry: FileEntry) -> str:
        """A local file that is verified to be what the entry says. Damaged copies are named and passed over."""
        problems = []
        for store in self.hot_stores():
            problem = problem_of(store.file(step, entry.name), entry)
            if problem is None:
                return store.file(step, entry.name)
            problems.append(f"{store.path(step)}: {problem}")
            if problem != "missing":
                say(f"step {step}: {entry.name} in {store.path(step)} is {problem}; trying the next place")
        if self.durable is not None:
            try:
                return self._fetched(step, entry)
            except Exception as error:  # noqa: BLE001 (each file system has errors of its own)
                problems.append(f"{self.durable.path(step)}: {in_words(error)}")
        raise DamagedCheckpoint(f"step {step}: {entry.name} cannot be restored ({'; '.join(problems)})")

    def _fetched(self, step: int, entry: FileEntry) -> str:
        assert self.durable is not None
        os.makedirs(self.own.path(step), exist_ok=True)
        unfinished = self.own.file(step, f"{UNFINISHED}{os.getpid()}-{time.monotonic_ns()}")
        try:
            self.durable.fetch(step, entry.name, unfinished)
            if (problem := problem_of(unfinished, entry)) is not None:
                raise DamagedCheckpoint(problem)
            self.own.publish(step, entry.name, unfinished)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
        return self.own.file(step, entry.name)


def problem_of(path: str, entry: FileEntry) -> str | None:
    """What is wrong with a local copy of a file; None when it is what was written."""
    try:
        size = os.stat(path, follow_symlinks=False).st_size
        if size != entry.bytes:
            return f"truncated ({size} of {entry.bytes} bytes)" if size < entry.bytes else f"too long ({size} bytes)"
        return None if sha256_of(path) == entry.sha256 else "damaged (its checksum differs)"
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"unreadable ({in_words(error)})"


def manifest_in(
    store: CheckpointStore, step: int, parts: list[RankPart], hear: Callable[[str], None] = lambda _: None
) -> Manifest | None:
    """The manifest of a step in one store. Without one the parts that are there are added to the list."""
    names = store.sizes(step)
    if MANIFEST in names:
        try:
            return decode_manifest(store.read(step, MANIFEST, MANIFEST_BYTES_MOST), step)
        except (FileNotFoundError, DamagedCheckpoint) as error:
            hear(f"{store.path(step)}: {in_words(error)}")
    parts.extend(parts_in(store, step, names, hear))
    return None


def parts_in(
    store: CheckpointStore, step: int, names: Iterable[str], hear: Callable[[str], None] = lambda _: None
) -> Iterator[RankPart]:
    """The parts of a step in one store."""
    for name in sorted(names):
        if part_of(name) is not None:
            try:
                yield decode_part(store.read(step, name, PART_BYTES_MOST), step, name)
            except (FileNotFoundError, DamagedCheckpoint) as error:
                hear(f"{store.path(step)}: {in_words(error)}")


def _runs_at(store: CheckpointStore, step: int) -> list[str]:
    parts: list[RankPart] = []
    whole = manifest_in(store, step, parts)
    return [whole.run] if whole is not None else [part.run for part in parts]


def places_of(around: Surroundings, path: str | None) -> Places | None:
    """The places for a run with these surroundings and the path that user code gives; None when there is no place."""
    is_own_path = path is not None and path != around.path
    given = path or around.path
    runs = around.runs if around.is_in_muster else ()
    if around.hot is not None and not is_own_path:
        own = FolderStore(os.path.join(around.hot, around.node, around.run))
        durable = store_at(given) if given is not None else None
        return Places(own=own, durable=durable, hot=around.hot, runs=runs)
    if given is None:
        return None
    store = store_at(given)
    if isinstance(store, ObjectStore):
        return Places(own=FolderStore(_cache(given)), durable=store, runs=runs, is_uploaded_here=True)
    return Places(own=store, durable=None, runs=runs)


def _cache(url: str) -> str:
    """A folder on this machine for what is sent to, or came from, an address."""
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    return os.path.join(tempfile.gettempdir(), f"muster-train-{os.getuid()}", name)
