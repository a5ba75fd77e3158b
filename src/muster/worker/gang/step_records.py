"""The steps of a batch job, as JSON lines in one file for each attempt, beside the output of its workers.

So `sacct` finds them when the job is over and when the control plane was away. Only the first worker of the gang writes
the file: a line when a step begins and one when it has ended. A step without the second was ended with its job. Steps
beyond a bound have no record, and a full disk costs records and nothing else.
"""

import contextlib
import json
import os
import time
from typing import Any

NAME = "steps.jsonl"
BATCH = "batch"
"""What the step of the script itself is called."""

STEPS_MAX = 10_000
"""How many steps of an attempt have a record: a quarter of what Slurm allows, and a file of two megabytes."""
NAME_CHARS = 200


class StepRecords:
    """Writes one file. Without a path, nothing."""

    def __init__(self, path: str = "") -> None:
        self._path = path
        self._open: set[str] = set()
        """Steps that have begun and not ended."""
        self._count = 0

    def begin(self, step: str, *, name: str, tasks: int, cpus: int, gpus: int, nodes: list[str]) -> None:
        """A step has begun on these nodes, with so much of the allocation."""
        if self._count >= STEPS_MAX:
            return
        self._count += 1
        self._open.add(step)
        size = {"tasks": tasks, "cpus": cpus, "gpus": gpus, "nodes": nodes}
        self._write({"step": step, "began_ms": _now_ms(), "name": name[:NAME_CHARS], **size})

    def end(self, step: str, code: int, used: dict[str, Any]) -> None:
        """A step has ended. What its tasks used of the machine is said as `step_usage` does."""
        if step in self._open:
            self._open.discard(step)
            self._write({"step": step, "ended_ms": _now_ms(), "code": code, **used})

    def _write(self, line: dict[str, Any]) -> None:
        if not self._path:
            return
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(file, data)
            finally:
                os.close(file)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
