"""What became of each save of a trial: when its step was done, when it was written, copied and in durable storage.

A thread looks at the hot tiers and at durable storage while the trial runs, because saves are removed when newer ones
are there, and with the disk of a node that dies. Times are those of the files, so looking late is not wrong.
"""

import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muster.train.store.parts import MANIFEST, part_of

LOOK_S = 0.1


@dataclass(slots=True, kw_only=True)
class SeenSave:
    """One save of one attempt, as far as it came."""

    step: int
    restart: int
    world: int
    written_s: dict[int, float] = field(default_factory=dict)
    """By rank, when its part was on the disk of its node."""
    copied_s: dict[int, float] = field(default_factory=dict)
    """By rank, when another node had its part."""
    durable_s: float | None = None

    @property
    def is_written_s(self) -> float | None:
        """When all parts were on the disks of their nodes; None when they never were."""
        return max(self.written_s.values()) if len(self.written_s) == self.world else None

    @property
    def is_copied_s(self) -> float | None:
        """When each part was on two nodes or in durable storage, so that any node may die; None if it never was."""
        copied_s = max(self.copied_s.values()) if len(self.copied_s) == self.world else None
        return min((each for each in (copied_s, self.durable_s) if each is not None), default=None)

    def told(self, begun_s: float | None, killed_s: float) -> str:
        """Its history in seconds before the kill, for people."""
        moments = (("step", begun_s), ("written", self.is_written_s), ("copied", self.is_copied_s))
        return f"{self.step}: " + ", ".join(
            f"{name} {at_s - killed_s:+.2f}" if at_s is not None else f"not {name}" for name, at_s in moments
        )


class SaveWatch:
    """Follows the saves of one trial until it is closed."""

    def __init__(self, hot: Path, durable: Path, *, nodes: str = "*") -> None:
        """`nodes` is a pattern for the folders with the hot tiers of nodes, below `hot`."""
        self._hot, self._durable = hot, durable
        self._patterns = ((hot, f"{nodes}/*/step-*"), (durable, "step-*"))
        self._seen: dict[tuple[int, int], SeenSave] = {}
        self._taken: set[tuple[Path, int]] = set()
        """Files that were read, each with its time: a later attempt may replace one."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="save-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()

    @property
    def saves(self) -> list[SeenSave]:
        """All saves, in the order of attempts and steps."""
        return [self._seen[key] for key in sorted(self._seen)]

    def _run(self) -> None:
        while not self._ended.wait(LOOK_S):
            for path in self._files():
                # It may be removed meanwhile, or not be whole yet.
                with suppress(OSError, ValueError, KeyError):
                    version = path, path.stat().st_mtime_ns
                    if version not in self._taken:
                        self._take(path, version[1] / 1e9)
                        self._taken.add(version)

    def _files(self) -> list[Path]:
        """The lists of files that are there now. A folder may be removed while it is looked into."""
        found: list[Path] = []
        for folder, pattern in self._patterns:
            with suppress(OSError):
                for step in list(folder.glob(pattern)):
                    with suppress(OSError):
                        found += step.glob("*.json")
        return found

    def _take(self, path: Path, at_s: float) -> None:
        is_durable = path.is_relative_to(self._durable)
        if is_durable and path.name == MANIFEST:
            for part in json.loads(path.read_bytes())["parts"]:
                save = self._of(part)
                save.durable_s = save.durable_s or at_s
        elif not is_durable and part_of(path.name) is not None:
            part = json.loads(path.read_bytes())
            save, is_own = self._of(part), path.parents[2].name == part["node"]
            (save.written_s if is_own else save.copied_s).setdefault(part["rank"], at_s)

    def _of(self, part: dict[str, Any]) -> SeenSave:
        step, restart = part["step"], part["attempt"]
        return self._seen.setdefault((restart, step), SeenSave(step=step, restart=restart, world=part["world"]))
