"""Lines that a training process writes to the supervisor of its node, as docs/TRAINING.md lists them."""

import contextlib
import json
import os
import sys
import threading
import time
from typing import Any

LINE_BYTES = 4095
"""What a pipe takes in one piece. Longer lines could be mixed with those of other ranks."""

PATIENCE_S = 30
"""How long a line that matters is offered to a pipe that is full or has no reader: a supervisor is back sooner."""

AGAIN_S = 0.05
"""Pause between two offers."""


class NoticePipe:
    """The pipe named by MUSTER_CHECKPOINT_NOTICE; without a path all notices go nowhere."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._lock = threading.Lock()

    def offer(self, word: str, fields: dict[str, Any] | None = None) -> bool:
        """Write a line now or not at all. For what is worth nothing later."""
        if self._path is None:
            return False
        line = _line(word, fields)
        with self._lock:
            try:
                file = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                return False
            try:
                return os.write(file, line) == len(line)
            except OSError:
                return False
            finally:
                os.close(file)

    def tell(self, word: str, fields: dict[str, Any] | None = None, patience_s: float = PATIENCE_S) -> bool:
        """Write a line that matters: wait for a while when the supervisor is away."""
        deadline_s = time.monotonic() + patience_s
        while self._path is not None and not self.offer(word, fields):
            if time.monotonic() > deadline_s or not os.path.exists(self._path):
                say(f"the supervisor did not take the notice {word!r}")
                return False
            time.sleep(AGAIN_S)
        return self._path is not None


def _line(word: str, fields: dict[str, Any] | None) -> bytes:
    """One line, short enough to be written in one piece. Long values lose their ends."""
    if fields is None:
        return f"{word}\n".encode()
    for most in (2000, 500, 100):
        line = f"{word} {json.dumps({name: _short(value, most) for name, value in fields.items()})}\n".encode()
        if len(line) <= LINE_BYTES:
            return line
    few = {name: fields[name] for name in list(fields)[:20]}
    return f"{word} {json.dumps({name: _short(value, 50) for name, value in few.items()})}\n".encode()[:LINE_BYTES]


def _short(value: Any, most: int) -> Any:
    return value[:most] if isinstance(value, str) else value


def say(message: str) -> None:
    """Tell the user on stderr. Training does not end because stderr is closed."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"[muster.train] {message}\n")
        sys.stderr.flush()
