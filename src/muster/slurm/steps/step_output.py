"""Where what the tasks of a step print goes: to the output of `srun`, line by line, or to files."""

import os
from collections.abc import Mapping

from muster.worker.gang.file_names import file_name, opened

NOWHERE = "none"


class OutputRefused(Exception):
    """A file for the output cannot be made; the message says which, and why."""


class StepOutput:
    """The output of all tasks. Lines of different tasks are never mixed, unless that was asked for."""

    def __init__(
        self, *, output: str, error: str, append: bool, label: bool, unbuffered: bool, tasks: int, folder: str
    ) -> None:
        self._patterns = {1: output, 2: error or output}
        self._append = append
        self._label = label
        self._unbuffered = unbuffered
        self._width = len(str(max(tasks - 1, 0)))
        self._folder = folder
        self._files: dict[str, int] = {}
        self._held: dict[tuple[int, int], bytes] = {}

    def take(self, task: int, kind: int, data: bytes, variables: Mapping[str, str]) -> None:
        """A task printed this on its standard output (1) or standard error (2)."""
        target = self._target(kind, task, variables)
        if target is None:
            return
        if self._unbuffered and not self._label:
            _write(target, data)
            return
        whole, newline, rest = (self._held.pop((task, kind), b"") + data).rpartition(b"\n")
        if newline:
            _write(target, self._labelled(task, whole + newline))
        if rest:
            self._held[task, kind] = rest

    def end(self, task: int, variables: Mapping[str, str]) -> None:
        """A task has ended: print what had no end of line."""
        for kind in (1, 2):
            rest = self._held.pop((task, kind), b"")
            target = self._target(kind, task, variables)
            if target is not None and rest:
                _write(target, self._labelled(task, rest + (b"\n" if self._label else b"")))

    def _labelled(self, task: int, text: bytes) -> bytes:
        if not self._label:
            return text
        mark = f"{task:>{self._width}}: ".encode()
        return b"".join(mark + line for line in text.splitlines(keepends=True))

    def _target(self, kind: int, task: int, variables: Mapping[str, str]) -> int | None:
        """Where to write; None for nowhere."""
        pattern = self._patterns[kind]
        if not pattern or pattern == "all":
            return kind
        if pattern == NOWHERE:
            return None
        if pattern.isdecimal():
            return kind if int(pattern) == task else None
        name = os.path.join(self._folder, file_name(pattern, variables))
        if name not in self._files:
            try:
                self._files[name] = opened(name, append=self._append)
            except OSError as error:
                raise OutputRefused(f"Could not open stdout file {name}: {error.strerror}") from None
        return self._files[name]


def _write(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
