"""Which checkpoints there are, and whether they are whole: for `muster checkpoints` and the control plane.

Only lists of files are read, never what ranks saved, except for checksums.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass

from muster.train.errors import DamagedCheckpoint, in_words
from muster.train.store.parts import FileEntry, Manifest, RankPart, assembled
from muster.train.store.places import manifest_in, problem_of
from muster.train.store.retention import remove_steps
from muster.train.store.stores import CheckpointStore, FolderStore, store_at

PROBLEMS_MOST = 100
"""Problems that are listed of one checkpoint."""


@dataclass(frozen=True, kw_only=True)
class StoredCheckpoint:
    """One checkpoint, wherever it is."""

    step: int
    at_ms: int | None
    """When the last rank had saved; None when that is not known."""
    bytes: int
    ranks: int
    """How many ranks saved it."""
    complete: bool
    verified: bool | None
    """None when nobody looked at the files."""
    where: tuple[str, ...]
    """hot, durable or both: where all of it is, or some of it when it is complete nowhere."""
    path: str
    run: str = ""
    problems: tuple[str, ...] = ()


class Inventory:
    """The checkpoints of one run in durable storage and in hot tiers."""

    def __init__(self, path: str | None, hot: Iterable[str] = (), run: str | None = None) -> None:
        """Look at a durable path, at the folders `HOT/NODE/RUN`, and at the checkpoints of one run only, if given."""
        self._durable: CheckpointStore | None = store_at(path) if path is not None else None
        self._hot = [FolderStore(folder) for folder in hot]
        self._run = run

    def leave_out_unreachable(self) -> str:
        """Leave durable storage out of what is looked at if it cannot be reached; why, or nothing.

        Raises what is wrong when there is nothing on nodes either: then nothing can be said at all.
        """
        try:
            if self._durable is not None:
                self._durable.steps()
        except Exception as error:
            if not any(store.steps() for store in self._hot):
                raise
            self._durable = None
            return in_words(error)
        return ""

    def checkpoints(self) -> list[StoredCheckpoint]:
        """All of them, newest first. Files are not opened."""
        found = (self.checkpoint(step) for step in self._steps())
        return [each for each in found if each is not None]

    def checkpoint(self, step: int) -> StoredCheckpoint | None:
        """One of them; None when there is nothing of that step."""
        return self._described(step, verify=False)

    def verify(self, step: int) -> StoredCheckpoint | None:
        """One of them with every file read in every place; None when there is nothing of that step."""
        return self._described(step, verify=True)

    def remove(self, step: int) -> None:
        """Remove one from all places."""
        for store in self._stores():
            if step in store.steps():
                remove_steps(store, [step])

    def _stores(self) -> list[CheckpointStore]:
        return [*([self._durable] if self._durable is not None else []), *self._hot]

    def _steps(self) -> list[int]:
        return sorted({step for store in self._stores() for step in store.steps()}, reverse=True)

    def _described(self, step: int, verify: bool) -> StoredCheckpoint | None:
        problems: list[str] = []
        durable_parts: list[RankPart] = []
        hot_parts: list[RankPart] = []
        durable = (
            manifest_in(self._durable, step, durable_parts, problems.append) if self._durable is not None else None
        )
        wholes = [manifest_in(store, step, hot_parts, problems.append) for store in self._hot]
        hot = self._newest([assembled(step, self._own(hot_parts)), *wholes])
        durable = self._newest([durable])
        best = self._newest([hot, durable])
        known = list(self._own([*durable_parts, *hot_parts]))
        if best is None and not known and not problems:
            return None
        if best is not None:
            problems += self._missing(step, best, hot, durable)
        if verify and best is not None:
            problems += self._damages(step, hot, durable)
        return self._summary(step, best, known, verify, (hot, durable), problems)

    def _summary(
        self,
        step: int,
        best: Manifest | None,
        known: list[RankPart],
        verify: bool,
        wholes: tuple[Manifest | None, Manifest | None],
        problems: list[str],
    ) -> StoredCheckpoint:
        parts = best.parts if best is not None else tuple(known)
        where = [name for name, whole in zip(("hot", "durable"), wholes, strict=True) if whole is not None]
        if not where:
            stores = {store.kind for store in self._stores() if store.sizes(step)}
            where = sorted(stores, reverse=True)
        place = self._durable if self._durable is not None and "durable" in where else self._hot_with(step)
        return StoredCheckpoint(
            step=step,
            at_ms=max((part.at_ms for part in parts), default=None),
            bytes=sum(part.bytes for part in parts),
            ranks=parts[0].world if parts else 0,
            complete=best is not None,
            verified=not problems if verify and best is not None else (False if problems else None),
            where=tuple(where),
            path=place.path(step) if place is not None else "",
            run=parts[0].run if parts else "",
            problems=tuple(problems[:PROBLEMS_MOST]),
        )

    def _hot_with(self, step: int) -> CheckpointStore | None:
        return next((store for store in self._hot if store.sizes(step)), self._durable)

    def _own(self, parts: Iterable[RankPart]) -> Iterable[RankPart]:
        return (part for part in parts if self._run in (None, part.run))

    def _newest(self, manifests: Iterable[Manifest | None]) -> Manifest | None:
        fitting = [each for each in manifests if each is not None and self._run in (None, each.run)]
        return max(fitting, key=lambda each: each.attempt, default=None)

    def _missing(self, step: int, best: Manifest, hot: Manifest | None, durable: Manifest | None) -> list[str]:
        """Files that are listed and not there, or have another size, in a place that should have all of them."""
        problems = []
        if self._durable is not None and durable is best:
            problems += _size_problems(self._durable, step, best)
        if hot is best and hot is not durable:
            sizes = [store.sizes(step) for store in self._hot]
            problems += [
                f"hot: {entry.name} is missing"
                for entry in best.files.values()
                if all(each.get(entry.name) != entry.bytes for each in sizes)
            ]
        return problems

    def _damages(self, step: int, hot: Manifest | None, durable: Manifest | None) -> list[str]:
        """Files whose contents are not what was written."""
        problems = [
            f"{store.file(step, entry.name)} is {problem}"
            for store in (self._hot if hot is not None else ())
            for name, entry in (hot.files if hot is not None else {}).items()
            if (problem := problem_of(store.file(step, name), entry)) not in (None, "missing")
        ]
        if durable is not None and self._durable is not None:
            problems += [
                f"{self._durable.path(step)}: {entry.name} is {problem}"
                for entry in durable.files.values()
                if (problem := _durable_problem(self._durable, step, entry))
            ]
        return problems


def _size_problems(store: CheckpointStore, step: int, manifest: Manifest) -> list[str]:
    sizes = store.sizes(step)
    return [
        f"{store.path(step)}: {entry.name} is missing"
        if entry.name not in sizes
        else f"{store.path(step)}: {entry.name} has {sizes[entry.name]} of {entry.bytes} bytes"
        for entry in manifest.files.values()
        if sizes.get(entry.name) != entry.bytes
    ]


def _durable_problem(store: CheckpointStore, step: int, entry: FileEntry) -> str | None:
    """Read a file of durable storage and compare it; None when it is missing, which was noticed before."""
    if isinstance(store, FolderStore):
        problem = problem_of(store.file(step, entry.name), entry)
        return None if problem == "missing" else problem
    descriptor, path = tempfile.mkstemp(prefix="muster-verify-")
    os.close(descriptor)
    try:
        store.fetch(step, entry.name, path)
        return problem_of(path, entry)
    except FileNotFoundError:
        return None
    except (OSError, DamagedCheckpoint) as error:
        return in_words(error)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
