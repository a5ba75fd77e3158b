"""How long a thread could have run but had no processor, as the system counts it."""

import contextlib
import os
import threading


class RunDelays:
    """The delays of the thread that makes this."""

    def __init__(self) -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def total_ns(self) -> int:
        """Nanoseconds since the thread began; 0 where the system does not tell."""
        if self._file is None:
            return 0
        try:
            return int(os.pread(self._file, 100, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
